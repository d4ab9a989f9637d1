"""Binds what Python statements assign to: names, attributes, items."""

import ast

from hplint.front.python import eval as python_eval
from hplint.front.python import operators as python_operators
from hplint.front.python.machine import Machine
from hplint.front.python.scope import Scope
from hplint.front.python.values import ClassValue, Items, Spec, Table, Unknown, Value
from hplint.front.torch import paths as torch_paths
from hplint.front.tp_plan import claims as tp_plan_claims
from hplint.front.tp_plan.words import CARRIERS
from hplint.text.span import Span


def assign(m: Machine, target: ast.expr, given: Value, scope: Scope, assumed: bool = False) -> None:
    """Bind a target to a value."""
    match target:
        case ast.Name():
            scope.bind(target.id, given, assumed)
            _note_name(m, target, given, scope)
        case ast.Tuple() | ast.List():
            _unpack(m, target, given, scope, assumed)
        case ast.Starred():
            assign(m, target.value, given, scope, assumed)
        case ast.Attribute():
            _assign_attribute(m, target, given, scope)
        case ast.Subscript():
            owner = as_table(m, target.value, python_eval.value(m, target.value, scope), given, scope)
            key = python_eval.value(m, target.slice, scope)
            torch_paths.note_store(m, owner, key, given)
            tp_plan_claims.note_item(m, scope, owner, key, given)
            python_operators.store(owner, key, given)


def as_table(m: Machine, node: ast.expr, owner: Value, given: Value, scope: Scope) -> Value:
    """The dict that something is written to. A dict that came from elsewhere (a parameter, an attribute) becomes one
    of which only the new items are known, once a part of a plan is written to it."""
    name = python_eval.dotted(node)
    if not isinstance(owner, Unknown) or name is None:
        return owner
    holds = isinstance(given, Spec) or (isinstance(given, Table) and given.holds_specs)
    if not holds and not tp_plan_claims.may_write(name, given):
        return owner
    table = m.new_table(m.places.span(node))
    table.put(owner, Unknown(owner.span, owner.reason))
    _christen(table, name, m.places.span(node))
    scope.bind(name, table)
    if isinstance(node, ast.Attribute) and node.attr in CARRIERS:
        _note_attribute(m, node, None, table, scope)
    elif isinstance(node, ast.Name):
        _note_name(m, node, table, scope)
    return table


def _note_name(m: Machine, node: ast.Name, given: Value, scope: Scope) -> None:
    _christen(given, node.id, m.places.span(node))
    if scope.kind == "class" and node.id in CARRIERS:
        tp_plan_claims.note_member(m, scope, node.id, m.places.span(node), given)


def _christen(given: Value, name: str, place: Span) -> None:
    if isinstance(given, Table) and given.name is None:
        given.name, given.anchor = name, place


def _unpack(m: Machine, target: ast.Tuple | ast.List, given: Value, scope: Scope, assumed: bool) -> None:
    found, rest = python_eval.items_of(m, given, target)
    if isinstance(given, Unknown):
        rest = given
        if torch_paths.unpack_pair(m, target, given, lambda t, v: assign(m, t, v, scope, assumed)):
            return
    star = next((i for i, t in enumerate(target.elts) if isinstance(t, ast.Starred)), None)
    if rest is None and star is not None and len(found) >= len(target.elts) - 1:
        end = len(found) - (len(target.elts) - 1 - star)
        found[star:end] = [Items("list", found[star:end], m.places.span(target))]
    for i, part in enumerate(target.elts):
        unknown = rest or Unknown(m.places.span(part), "the number of values does not fit")
        assign(m, part, found[i] if i < len(found) else unknown, scope, assumed)


def _assign_attribute(m: Machine, target: ast.Attribute, given: Value, scope: Scope) -> None:
    owner = python_eval.value(m, target.value, scope)
    span = m.places.span(target)
    match owner:
        case Spec():
            owner.fields[target.attr] = (Span(span.end - len(target.attr), span.end), given)
        case ClassValue():
            owner.members.bind(target.attr, given)
        case _:
            if (name := python_eval.dotted(target)) is not None:
                scope.bind(name, given)
    if target.attr in CARRIERS:
        _note_attribute(m, target, owner, given, scope)
    _christen(given, target.attr, Span(span.end - len(target.attr), span.end))


def _note_attribute(m: Machine, node: ast.Attribute, owner: Value | None, given: Value, scope: Scope) -> None:
    end = m.places.span(node).end
    place = Span(end - len(node.attr), end)
    owner = python_eval.value(m, node.value, scope) if owner is None else owner
    tp_plan_claims.note_attribute(m, scope, python_eval.dotted(node.value), owner, node.attr, place, given)
