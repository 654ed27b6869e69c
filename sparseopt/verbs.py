"""Methods that a higher layer lends to a data type, such as ``result.plot()``.

A result knows no picture and no selection rule. The top of the package states which free verb
serves as which method (:func:`lend`), before the types are defined, and a type that takes part is
decorated with :func:`borrows`. The verb's module is imported at the first call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from inspect import Parameter, signature
from typing import Any, TypeVar

from sparseopt.errors import ParamError
from sparseopt.installed import resolve

T = TypeVar("T", bound=type)

_LENT: dict[str, dict[str, Verb]] = {}


class Verb:
    """A method that calls a free function with the object as its first argument.

    Parameters
    ----------
    reference : str
        "module:function".
    doc : str
        The method's docstring.
    """

    def __init__(self, reference: str, doc: str) -> None:
        self.reference = reference
        self.__doc__ = doc

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        method: Callable[..., Any] = partial(_call, self.reference, instance)
        return method


def _call(reference: str, instance: Any, *arguments: Any, **keywords: Any) -> Any:
    return resolve(reference)(instance, *arguments, **keywords)


def lend(owner: str, name: str, reference: str, doc: str) -> None:
    """State that a type gets a method.

    Parameters
    ----------
    owner : str
        The type, as "module:Class". Its subclasses inherit the method.
    name : str
        The method's name.
    reference : str
        The free function, as "module:function"; it is called with the object first.
    doc : str
        The method's docstring.
    """
    _LENT.setdefault(owner, {})[name] = Verb(reference, doc)


def borrows(cls: T) -> T:
    """Attach the methods that were lent to the class (a class decorator).

    Parameters
    ----------
    cls : type

    Returns
    -------
    type
        The same class.
    """
    for name, verb in _LENT.get(f"{cls.__module__}:{cls.__qualname__}", {}).items():
        setattr(cls, name, verb)
    return cls


def refuse_unknown(
    what: str, function: Callable[..., Any], options: Iterable[str], filled: Collection[str] = ()
) -> None:
    """Refuse options that the function behind a verb does not take.

    Python's own error would name the function, which the user of the verb has not called.

    Parameters
    ----------
    what : str
        What was asked for, in the user's words.
    function : callable
        Its first parameter is what the verb is about, and no option.
    options : iterable of str
        The names that were given.
    filled : collection of str
        Parameters that the verb fills by itself.

    Raises
    ------
    ParamError
        Naming the option, and those that there are.
    """
    parameters = list(signature(function).parameters.values())[1:]
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters):
        return
    known = [parameter.name for parameter in parameters if parameter.name not in filled]
    for name in options:
        if name not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise ParamError(f"{what} has no option {name!r}; {takes}")
