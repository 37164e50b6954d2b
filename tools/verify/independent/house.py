"""The documents of the house, from its address or from files: section 9 of docs/verification.md."""

import chain
from chain import Unreachable


class Refused(Exception):
    """The house answers 4xx, but not 408 or 429."""


class House:
    """The documents of the house: from its address, or from files."""

    def __init__(self, options):
        self.options, self.kinds = options, [options.kind] if options.kind else ["chat", "legacy"]

    def get(self, name):
        """The bytes of a document. Raises Refused or Unreachable."""
        path = getattr(self.options, name)
        if path:
            return read_file(path)
        if not self.options.house:
            raise Unreachable(f"there is no file of the {name}")
        status = None
        for kind in list(self.kinds):
            start = "/chat/round/" if kind == "chat" else "/round/"
            query = "?format=ndjson" if name == "entries" else ""
            status, data = chain.fetch(f"{self.options.house.rstrip('/')}{start}{self.options.round}/{name}{query}")
            if status == 200:
                self.kinds = [kind]
                return data
        raise Refused(f"the house answers {status} for the {name}")


def read_file(path):
    """The bytes of a file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Unreachable(str(error)) from None
