"""The checks of section 10 of docs/verification.md that look at the documents: audit, rules, statements, entries and
receipts."""

import rules
from chain import Unreachable
from encoding import Invalid, NotJson, demand, fields, hex_bytes, instant, integer, jcs, read_json
from house import Refused, read_file

AUDIT = "version round void parameters parametersHash announcement closed entries commitment beacon draw winners"


class DocumentChecks:
    """A part of the Verifier in verify_round.py."""

    def read_kept(self, path):
        """Reads a kept statement. One that is not in form cannot show anything."""
        try:
            signed = read_json(read_file(path))
            rules.check_statement(signed)
            return signed
        except Invalid as error:
            raise Unreachable(f"{path}: {error}") from None

    def check_audit(self):
        """The audit is a valid document, and is there."""
        try:
            self.audit = audit = read_json(self.house.get("audit"))
        except NotJson as error:
            raise Unreachable(str(error)) from None
        except Refused as error:
            demand(not self.is_committed(), f"{error} although the round is committed")
            raise Unreachable(f"{error}, and no commitment is known") from None
        demand(isinstance(audit, dict), "the audit is not an object")
        if type(audit.get("version")) is int and audit["version"] > 2:
            raise Unreachable(f"the audit has version {audit['version']}")
        self.shown_leaves = audit.pop("entryHashes", None)
        fields(audit, AUDIT)
        integer(audit["version"], 2, 2)
        demand(audit["round"] == self.options.round, "the audit is that of another round")
        demand(audit["void"] in (None, "no-entries"), "void has an unknown value")
        hex_bytes(audit["parametersHash"])
        self.p, self.hash = audit["parameters"], rules.check_parameters(audit["parameters"])
        demand(self.p["round"] == audit["round"], "the parameters are those of another round")
        rules.check_statement(audit["announcement"], "coinop/announcement/1")
        self.closed = rules.check_statement(audit["closed"], "coinop/closed/1")
        self.closed_at = instant(self.closed["closedAt"])
        fields(audit["entries"], "count root runningHash")
        return True

    def check_rules(self):
        """The rules of the round, and the treasury."""
        demand(self.audit["parametersHash"] == self.hash.hex(), "parametersHash is wrong")
        d = self.draws
        demand(not d or d["isDevelopment"] or self.p["leadSec"] <= d["margin"] + d["window"] - 60,
               "leadSec is too long")
        demand(self.options.pin_treasury in (None, self.p["treasury"]), "the treasury is not the pinned one")

    def check_kept(self):
        """Kept statements are about this round, and signed; those that are not are left out from here on."""
        good = [k for k in self.kept if k["statement"]["round"] == self.p["round"]
                and rules.has_signature(k, self.draws["receiptKey"])]
        other, self.kept = len(self.kept) - len(good), good
        for signed in good:
            demand(signed["statement"]["parametersHash"] == self.hash.hex(), "a kept statement has other rules")
            demand(signed["statement"]["type"] != "coinop/closed/1" or all(
                signed["statement"][f] == self.closed[f] for f in ("closedAt", "count", "runningHash")),
                   "the kept closing differs")
        if other:
            raise Unreachable(f"{other} kept statement(s) about another round or not signed by the receipt key")

    def check_statements(self):
        """The signed statements in the audit."""
        for signed in (self.audit["announcement"], self.audit["closed"]):
            s = signed["statement"]
            demand((s["round"], s["draws"], s["parametersHash"]) ==
                   (self.p["round"], self.p["draws"], self.hash.hex()), f"{s['type']} is about something else")
            demand(not self.draws or rules.has_signature(signed, self.draws["receiptKey"]),
                   f"{s['type']} has no valid signature")
        opens, closes = instant(self.p["opensAt"]), instant(self.p["closesAt"])
        demand(self.closed_at == closes or (self.p["kind"] == "legacy" and opens <= self.closed_at <= closes),
               "closedAt is not allowed")

    def check_entries(self):
        """The list of entries."""
        try:
            is_empty = self.closed["count"] == 0 and not self.options.entries
            data = b"" if is_empty else self.house.get("entries")
        except Refused as error:
            raise Invalid(str(error)) from None
        self.entries = entries = rules.read_entries(data, self.p, self.closed_at)
        self.leaves = [rules.entry_leaf(self.p["round"], e) for e in entries]
        self.hashes = rules.running_hashes(self.hash, self.leaves)
        self.root = rules.tree(self.leaves)[-1][0] if entries else None
        demand((len(entries), self.hashes[-1].hex()) == (self.closed["count"], self.closed["runningHash"]),
               "count or running hash differ from the closing")
        shown = {"count": len(entries), "root": self.root and self.root.hex(), "runningHash": self.hashes[-1].hex()}
        demand(jcs(shown) == jcs(self.audit["entries"]), "the audit shows another count, root or running hash")
        demand(self.shown_leaves in (None, [leaf.hex() for leaf in self.leaves]),
               "entryHashes are not the leaves of the entries")
        demand(self.audit["void"] is None or not entries, "void contradicts the entries")

    def check_receipts(self):
        """The kept receipts are about entries of the list."""
        for s in (k["statement"] for k in self.kept if k["statement"]["type"] == "coinop/receipt/1"):
            i = s["index"]
            demand(i < len(self.entries) and jcs({f: s[f] for f in rules.ENTRY.split()}) == jcs(self.entries[i]),
                   f"the entry of the receipt is not at index {i}")
            demand((s["leaf"], s["runningHash"]) == (self.leaves[i].hex(), self.hashes[i + 1].hex()),
                   f"the leaf or the running hash of receipt {i} differs from the list")
