"""Module trees of safetensors checkpoints: names and shapes from the headers, without torch and without model code.

A file starts with 8 bytes (little-endian) that give the length of a JSON object {name: {dtype, shape, data_offsets}}.
"""

import json
import os
from collections.abc import Mapping
from typing import Any

from hplint.model.failure import ModelError
from hplint.model.tree import ModuleTree, Node, Tensor
from hplint.text.wording import plural, quote

INDEX = "model.safetensors.index.json"
_MAX_HEADER = 100_000_000
"""Bytes; the limit of the safetensors format itself."""
_MAX_INDEX = 200_000_000
_DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu", "F4": "float4_e2m1fn_x2",
    "C64": "complex64",
}  # fmt: skip


def read_checkpoint(path: str, spec: str = "") -> ModuleTree:
    """The tree of the checkpoint in a folder or file. Raises ModelError for a missing or damaged file.

    Modules are inferred from the dotted names, so those without tensors (activations, containers that are empty) are
    not in it, and classes, forwards and attributes are unknown. Every tensor counts as a parameter.
    """
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    config = _config(os.path.join(folder, "config.json"))
    tensors = _tensors(path)
    if not tensors:
        raise ModelError(f"{quote(os.path.basename(path))} holds no tensors")
    ties = _tied_head(tensors, config)
    nodes, root = _nodes(tensors)
    return ModuleTree(classes=(), nodes=nodes, root=root, aliases={}, ties=ties, config=config, spec=spec)


def _tensors(path: str) -> dict[str, Tensor]:
    if os.path.isfile(path):
        return _header(path)
    names = sorted(n for n in _listdir(path) if n.endswith((".safetensors", ".safetensors.index.json")))
    index = INDEX if INDEX in names else next((n for n in names if n.endswith(".index.json")), None)
    if index:
        return _indexed(path, index)
    if "model.safetensors" in names:
        names = ["model.safetensors"]
    found: dict[str, Tensor] = {}
    for name in names:
        found.update(_header(os.path.join(path, name)))
    return found


def _listdir(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError as error:
        raise ModelError(f"{quote(path)} cannot be read: {error.strerror}") from None


def _indexed(folder: str, index: str) -> dict[str, Tensor]:
    data = _json(os.path.join(folder, index), _MAX_INDEX)
    places = data.get("weight_map") if isinstance(data, dict) else None
    if not isinstance(places, dict) or not all(isinstance(v, str) for v in places.values()):
        raise ModelError(f"{quote(index)} has no weight_map that maps tensors to files")
    files = sorted(set(places.values()))
    if any(os.path.basename(f) != f for f in files):
        raise ModelError(f"{quote(index)} names files outside its folder")
    absent = [f for f in files if not os.path.isfile(os.path.join(folder, f))]
    if absent:
        raise ModelError(
            f"{quote(index)} names {quote(absent[0])}, which is not there"
            + (f" (nor {plural(len(absent) - 1, 'other file')})" if absent[1:] else ""),
            "complete the download: shapes are read from the header of every file",
        )
    headers = {f: _header(os.path.join(folder, f)) for f in files}
    for name, file in places.items():
        if name not in headers[file]:
            raise ModelError(f"{quote(index)} says that {quote(file)} holds {quote(name)}, but it does not")
    return {name: headers[file][name] for name, file in places.items()}


def _header(path: str) -> dict[str, Tensor]:
    name = os.path.basename(path)
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(_MAX_HEADER, size - 8):
                raise ModelError(f"{quote(name)} is not a safetensors file, or it is cut short")
            data = json.loads(file.read(length))
    except OSError as error:
        raise ModelError(f"{quote(name)} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise ModelError(f"{quote(name)} has a damaged safetensors header") from None
    if not isinstance(data, dict):
        raise ModelError(f"{quote(name)} has a damaged safetensors header")
    return {key: _tensor(name, key, value) for key, value in data.items() if key != "__metadata__"}


def _tensor(file: str, key: str, value: Any) -> Tensor:
    shape = value.get("shape") if isinstance(value, dict) else None
    dtype = value.get("dtype") if isinstance(value, dict) else None
    if not (isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape) and isinstance(dtype, str)):
        raise ModelError(f"{quote(file)} has a damaged safetensors header: no shape and dtype for {quote(key)}")
    name = _DTYPES.get(dtype, dtype.lower())
    return Tensor(tuple(shape), name, name.startswith(("float", "bfloat")))


def _config(path: str) -> dict[str, Any]:
    if not os.path.isfile(path):
        return {}
    data = _json(path, _MAX_INDEX)
    return data if isinstance(data, dict) else {}


def _json(path: str, limit: int) -> Any:
    name = os.path.basename(path)
    try:
        with open(path, "rb") as file:
            text = file.read(limit + 1)
        if len(text) > limit:
            raise ModelError(f"{quote(name)} is larger than {limit:,} bytes")
        return json.loads(text)
    except OSError as error:
        raise ModelError(f"{quote(name)} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{quote(name)} is not JSON: {error}") from None


def _tied_head(tensors: dict[str, Tensor], config: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """A causal model that is saved without a head has it tied to the embedding: safetensors stores a tensor once."""
    names = config.get("architectures")
    named = any(isinstance(n, str) and n.endswith("ForCausalLM") for n in names) if isinstance(names, list) else False
    embeddings = [n for n in tensors if n.endswith("embed_tokens.weight")]
    if not named or len(embeddings) != 1 or any("lm_head." in n for n in tensors):
        return ()
    tensors["lm_head.weight"] = tensors[embeddings[0]]
    return ((embeddings[0], "lm_head.weight"),)


def _nodes(tensors: Mapping[str, Tensor]) -> tuple[tuple[Node, ...], int]:
    """Nodes of the modules that the names imply, children first, equal ones once, siblings in natural order."""
    owned: dict[str, dict[str, Tensor]] = {}
    for name in sorted(tensors):
        owner, _, leaf = name.rpartition(".")
        owned.setdefault(owner, {})[leaf] = tensors[name]
    modules = {""}
    for owner in owned:
        while owner not in modules:
            modules.add(owner)
            owner = owner.rpartition(".")[0]
    children: dict[str, list[str]] = {}
    for module in modules - {""}:
        children.setdefault(module.rpartition(".")[0], []).append(module)
    numbers: dict[str, int] = {}
    nodes: dict[tuple[Any, ...], int] = {}
    for module in sorted(modules, key=lambda m: (-m.count("."), m == "")):
        below = sorted(children.get(module, ()), key=_natural)
        named = tuple((child.rpartition(".")[2], numbers[child]) for child in below)
        key = (tuple(owned.get(module, {}).items()), named)
        numbers[module] = nodes.setdefault(key, len(nodes))
    return tuple(Node(-1, dict(own), {}, {}, named) for own, named in nodes), numbers[""]


def _natural(module: str) -> tuple[bool, int, str]:
    last = module.rpartition(".")[2]
    number = last.isdecimal()
    return number, int(last) if number else 0, last
