"""Making the model that a request names. Runs in the child process alone: it imports torch and the user's code."""

import importlib
import importlib.util
import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any

from torch import nn

from hplint.model.failure import ModelError
from hplint.model.meta_device import build_on_meta, needs_data
from hplint.text.near import near
from hplint.text.wording import listing, quote

AUTO_CLASSES = (
    "AutoModelForCausalLM",
    "AutoModelForImageTextToText",
    "AutoModelForSeq2SeqLM",
    "AutoModelForMaskedLM",
    "AutoModel",
)


Allocate = Callable[[Callable[[], Any]], Any]
"""Calls a factory in a way that decides where its tensors live."""


def make_model(request: dict[str, Any], allocate: Allocate = build_on_meta, attention: str = "eager") -> nn.Module:
    """The model, on meta tensors unless ``allocate`` makes others. ``request`` is what ``build.py`` sends;
    ``attention`` is the implementation that transformers uses. Raises ModelError with the cause."""
    if request["kind"] == "hf":
        return _from_config(request["path"], allocate, attention)
    return _from_factory(request, allocate)


# -- py: ---------------------------------------------------------------------------------------------------------------


def _from_factory(request: dict[str, Any], allocate: Allocate) -> nn.Module:
    shown = request["shown"]
    factory_name: str = request["factory"]
    module = _import(request, shown)
    factory: Any = module
    for part in factory_name.split("."):
        try:
            factory = getattr(factory, part)
        except AttributeError:
            names = near(part, [n for n, v in vars(factory).items() if callable(v)])
            raise ModelError(
                f"{quote(shown)} has no {quote(factory_name)}",
                f"did you mean {listing(names, 'or')}" if names else _offer(factory),
            ) from None
    if isinstance(factory, nn.Module):
        return factory
    if not callable(factory):
        raise ModelError(f"{quote(factory_name)} in {quote(shown)} is {_kind(factory)}, not a function or class")
    _check_arguments(factory_name, factory, request["arguments"])
    try:
        model = allocate(lambda: factory(**request["arguments"]))
    except BaseException as error:
        raise _raised(quote(factory_name), error) from None
    if not isinstance(model, nn.Module):
        hint = "the factory must return the model itself"
        raise ModelError(f"{quote(factory_name)} returned {_kind(model)}, not an nn.Module", hint)
    return model


def _import(request: dict[str, Any], shown: str) -> ModuleType:
    sys.path[:0] = [p for p in request["sys_path"] if p not in sys.path]
    name, path = request["name"], request["path"]
    try:
        if not path:
            return importlib.import_module(name)
        if name in sys.modules and getattr(sys.modules[name], "__file__", None) == path:
            return sys.modules[name]
        if name in sys.modules or name in sys.stdlib_module_names:
            # A user's types.py or queue.py must not take the place of the module of that name.
            name = f"_model_{name}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        if "." in name:
            importlib.import_module(name.rpartition(".")[0])
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    except ModuleNotFoundError as error:
        missing = error.name or str(error)
        if missing in (name, *_parents(name)) and not path:
            hint = "name its file (py:path/file.py:factory), or the folder that holds it with --src"
            raise ModelError(f"there is no module {quote(missing)} here", hint) from None
        place = _place(error)
        raise ModelError(
            f"{quote(shown)} imports {quote(missing)}, which is not installed here{place}",
            f"install it, or name the folder that holds it with --src; hplint ran {sys.executable}",
        ) from None
    except SyntaxError as error:
        place = f" ({os.path.basename(error.filename)}:{error.lineno})" if error.filename else ""
        raise ModelError(f"{quote(shown)} is not valid Python: {error.msg}{place}") from None
    except BaseException as error:
        raise _raised(f"importing {quote(shown)}", error) from None
    return module


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts))]


def _offer(module: Any) -> str:
    own = getattr(module, "__name__", None)
    names = [
        n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", None) == own and n[0] != "_"
    ]
    return f"it defines {listing(names)}" if names else ""


def _check_arguments(name: str, factory: Callable[..., Any], arguments: dict[str, Any]) -> None:
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):
        return
    parameters = signature.parameters.values()
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        allowed = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        if unknown := next((a for a in arguments if a not in allowed), None):
            names = near(unknown, allowed)
            hint = f"did you mean {listing(names, 'or')}" if names else f"it takes {listing(allowed) or 'no arguments'}"
            raise ModelError(f"{quote(name)} takes no argument {quote(unknown)}", hint)
    missing = [p.name for p in parameters if p.default is p.empty and not p.kind.name.startswith("VAR_")]
    if missing := [m for m in missing if m not in arguments]:
        given = "&".join(f"{m}=…" for m in missing)
        hint = f"give it in the spec, as in py:…:{name}?{given}, or name a function without required arguments"
        raise ModelError(f"{quote(name)} needs the argument {listing(missing)}", hint)


# -- hf: ---------------------------------------------------------------------------------------------------------------


def _from_config(folder: str, allocate: Allocate, attention: str) -> nn.Module:
    raw = _read_config(os.path.join(folder, "config.json"))
    try:
        import transformers
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "transformers":
            raise ModelError(f"transformers cannot be imported: no module {quote(error.name)}") from None
        raise ModelError("transformers is not installed here", "pip install transformers") from None
    except Exception as error:
        raise _raised("importing transformers", error) from None
    names = [n for n in raw.get("architectures") or () if isinstance(n, str)]
    try:
        config, cls = _config_and_class(transformers, folder, raw, names)
        make = getattr(cls, "_from_config", None)
        if make is None:
            model: nn.Module = allocate(lambda: cls(config))
        else:
            # Eager attention is the one implementation that needs no further package; modules are the same in all.
            model = allocate(lambda: make(config, attn_implementation=attention))
        tie: Any = getattr(model, "tie_weights", None)
        if callable(tie):
            tie()
    except ModelError:
        raise
    except BaseException as error:
        raise _raised(f"building {quote(names[0] if names else raw.get('model_type'))}", error) from None
    return model


def _read_config(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            raw = json.loads(file.read())
    except OSError as error:
        raise ModelError(f"config.json cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"config.json is not JSON: {error}") from None
    if not isinstance(raw, dict):
        raise ModelError("config.json holds no mapping")
    return raw


def _config_and_class(transformers: Any, folder: str, raw: dict[str, Any], names: list[str]) -> tuple[Any, Any]:
    known = transformers.CONFIG_MAPPING
    model_type = raw.get("model_type")
    cls = next((found for n in names if (found := _exported(transformers, n)) is not None), None)
    if model_type in known:
        config = known[model_type].from_pretrained(folder, local_files_only=True)
        cls = cls or next((found for n in names if (found := _in_family(type(config), n)) is not None), None)
    elif raw.get("auto_map"):
        raise _remote_code(f"the model type {quote(model_type)}")
    elif model_type is not None:
        near_types = near(str(model_type), known.keys())
        better = f"did you mean {listing(near_types, 'or')}; else a" if near_types else "a"
        raise ModelError(
            f"transformers {transformers.__version__} knows no model type {quote(model_type)}",
            f"{better} newer transformers may know it: pip install -U transformers",
        )
    elif cls is None:
        raise ModelError("config.json names no model_type and no class that transformers knows")
    else:
        config = cls.config_class.from_dict(raw)
    if cls is not None:
        return config, cls
    if names and raw.get("auto_map"):
        raise _remote_code(f"the class {quote(names[0])}")
    # Trainers load by model type, whatever architectures says.
    for auto in AUTO_CLASSES:
        mapping = getattr(getattr(transformers, auto, None), "_model_mapping", {})
        if type(config) in mapping:
            found = mapping[type(config)]
            return config, found[0] if isinstance(found, tuple) else found
    wanted = quote(names[0] if names else model_type)
    near_names = near(names[0], dir(transformers)) if names else []
    hint = f"did you mean {listing(near_names, 'or')}" if near_names else "pip install -U transformers"
    raise ModelError(f"transformers {transformers.__version__} has no class {wanted}", hint)


def _exported(transformers: Any, name: str) -> Any:
    """The class of that name in the library's own namespace; None where it has none. Looking for one that it keeps to
    itself raises whatever it likes."""
    try:
        return getattr(transformers, name, None)
    except Exception:
        return None


def _in_family(config: type, name: str) -> Any:
    """The class of that name beside a configuration: the library does not export every part of a model."""
    try:
        module = importlib.import_module(config.__module__.replace(".configuration_", ".modeling_"))
    except ImportError:
        return None
    return getattr(module, name, None)


def _remote_code(what: str) -> ModelError:
    return ModelError(
        f"{what} is defined by code in the model's own repository (trust_remote_code), which hplint never runs",
        "name a factory that builds it (py:file.py:factory), or check names and shapes alone (safetensors:DIR)",
    )


# -- what went wrong ---------------------------------------------------------------------------------------------------


def _raised(what: str, error: BaseException) -> ModelError:
    """One line for whatever the user's code or a library raised."""
    text = _first_line(str(error))
    place = _place(error)
    if isinstance(error, ModelError):
        return error
    if isinstance(error, SystemExit):
        return ModelError(f"{what} ended the process (sys.exit({error.code!r})){place}")
    if isinstance(error, MemoryError):
        return ModelError(f"{what} ran out of memory{place}", _LESS)
    if _offline(error):
        return ModelError(
            f"{what} needs the network, which hplint never uses: {_cut(text)}{place}",
            "download what it needs once (hf download …), or build from a local config.json",
        )
    if "trust_remote_code" in str(error):
        return ModelError(f"{what} needs trust_remote_code, which hplint never sets: {_cut(text)}{place}")
    hint = ""
    if needs_data(error):
        hint = "the model reads tensor values or needs a device while it builds; build it on torch.device('meta')"
    return ModelError(f"{what} raised {type(error).__name__}: {_cut(text)}{place}", hint)


_LESS = "build the model on torch.device('meta') in the factory, without loading weights"
_OFFLINE_NAMES = {"LocalEntryNotFoundError", "OfflineModeIsEnabled", "ConnectError", "ConnectionError", "URLError",
                  "gaierror", "NetworkBlocked", "MaxRetryError"}  # fmt: skip


def _offline(error: BaseException | None) -> bool:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if type(error).__name__ in _OFFLINE_NAMES or "couldn't connect to" in str(error).lower():
            return True
        error = error.__cause__ or error.__context__
    return False


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[:2]) if lines and lines[0].endswith(":") else "".join(lines[:1])


def _cut(text: str) -> str:
    return text if len(text) <= 300 else text[:297] + "…"


def _kind(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {quote(value.__name__)}"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _place(error: BaseException) -> str:
    """`` (file.py:12)``: the innermost line of code that belongs to no installed package, nor to hplint."""
    here = os.path.dirname(os.path.abspath(__file__))
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        name = frame.filename
        if not name.startswith((here, "<", os.path.dirname(os.__file__))) and "site-packages" not in name:
            return f" ({os.path.basename(name)}:{frame.lineno})"
    return ""
