"""Verifies an allocation of the vectors and the account of an epoch. It needs no network."""

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import encoding as e  # noqa: E402
import epoch_points  # noqa: E402
import payouts  # noqa: E402
import rules  # noqa: E402
import verify_epoch  # noqa: E402
from test_vectors import vectors  # noqa: E402


def points_file(header, lines):
    """The points file of an epoch whose wallets have all their points from quests."""
    shared = {k: header[k] for k in "epoch formulaVersion pool cap dust points wallets".split()}
    own = [{"wallet": x["wallet"], "points": x["points"], "sources": {"quest:quest": x["points"]}} for x in lines]
    first = {"type": "coinop/points/1", "rulesVersion": 2, **shared}
    return "".join(json.dumps(x) + "\n" for x in [first, *sorted(own, key=lambda x: x["wallet"])])


class VerifyEpoch(unittest.TestCase):
    def test_epoch(self):
        v = vectors("epochs")["allocations"][1]
        epoch, lines = 20777, []
        for w in v["wallets"]:
            lines.append({"index": 0, **w})
        lines.sort(key=lambda x: x["amount"] == "0")
        for i, x in enumerate(lines):
            x["index"] = None if x["amount"] == "0" else i
        root = rules.tree([rules.epoch_leaf(epoch, x["index"], x["wallet"], int(x["amount"]))
                           for x in lines if x["index"] is not None])[-1][0]
        for change, code in ((None, 0), ("400", 1)):
            if change:
                lines[2]["amount"] = change
            total = sum(int(x["amount"]) for x in lines)
            header = {"epoch": epoch, "source": "computed", "formulaVersion": 1, "pool": v["pool"], "cap": v["cap"],
                      "dust": v["dust"], "points": sum(x["points"] for x in lines), "wallets": len(lines),
                      "leaves": sum(x["index"] is not None for x in lines), "total": str(total),
                      "undistributed": str(int(v["pool"]) - total), "root": root.hex()}
            points = points_file(header, lines)
            shown = {**header, "status": "computed", "expiresAt": None, "settleRequestedAt": None, "onChain": None,
                     "rulesVersion": 2, "commitSignature": None, "pointsHash": e.sha256(points.encode()).hex()}
            documents = {"leaves": "".join(json.dumps(x) + "\n" for x in [header, *lines]), "points": points,
                         "document": json.dumps(shown), "rules": json.dumps({**header, "version": 2})}
            with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as output:
                arguments = [str(epoch)]
                for name, text in documents.items():
                    arguments += [f"--{name}", os.path.join(folder, name)]
                    with open(arguments[-1], "w", encoding="utf-8") as file:
                        file.write(text)
                got = verify_epoch.main(arguments)
            self.assertEqual(got, code, output.getvalue())

    def test_account(self):
        key = {name: e.sha256(name.encode()) for name in ("program", "authority", "mint")}
        text = {name: e.base58_encode(data) for name, data in key.items()}
        amounts, expires = [5, 7, 9], 1_900_000_000
        address, _ = e.program_address([b"epoch", key["authority"], key["mint"], e.le(20777, 8)], key["program"])
        vault = payouts.token_account(e.base58_encode(address), text["mint"])
        page, _ = e.program_address([b"claimed", address, e.le(0, 4)], key["program"])
        shown = {"root": "11" * 32, "total": "21", "leaves": 3, "status": "committed", "settleRequestedAt": None,
                 "expiresAt": e.show_instant(1000 * expires), "onChain": {**text, "claims": 2, "claimed": "14",
                 "account": e.base58_encode(address), "vault": e.base58_encode(vault)}}
        options = argparse.Namespace(rpc="", epoch=20777, **text)

        def check(state=1, claimed=14, held=7, marks=5, **changes):
            data = b"CoinopEp" + bytes([1, state, 255, 0]) + e.le(3, 4) + e.le(20777, 8) + e.le(21, 8)
            data += e.le(claimed, 8) + e.le(expires, 8) + b"\x11" * 32 + key["authority"] + key["mint"] + vault
            accounts = {address: (key["program"], data + bytes(64)),
                        page: (key["program"], b"CoinopPg\x01\xff\0\0" + bytes(4) + address + bytes([marks])),
                        vault: (e.key32(payouts.TOKEN), key["mint"] + address + e.le(held, 8) + bytes(93))}
            node = mock.Mock(account=accounts.get, certain=lambda read, _: read())
            verify_epoch.check_account(options, node, {**shown, **changes}, amounts, 0)

        check()
        check(state=2, status="settled")
        for lie in ({"claimed": 13}, {"held": 6}, {"marks": 3}, {"marks": 9}, {"root": "22" * 32}, {"total": "22"},
                    {"state": 2}, {"state": 3}, {"status": "expired"}, {"leaves": 4}, {"status": "settled"}):
            with self.subTest(lie), self.assertRaises(e.Invalid):
                check(**lie)

    def test_points_file(self):
        v = vectors("points")
        data = v["file"].encode()
        header, points = epoch_points.read_file(data)
        lines = [{"wallet": w, "points": n, "amount": "1"} for w, n in points.items()]
        shown = {**{k: header[k] for k in epoch_points.SHARED.split()}, "source": "computed",
                 "pointsHash": v["pointsHash"]}
        self.assertEqual(len(data), v["pointsBytes"])
        epoch_points.check_file(shown, data, lines, [])
        excluded = [{"wallet": lines[0]["wallet"], "reason": "a bot"}]
        epoch_points.check_file(shown, data, lines[1:], excluded)
        for lie in ((shown, data + b"\n", lines, []), ({**shown, "pool": "1"}, data, lines, []),
                    (shown, data, lines[1:], []), (shown, data, lines, excluded),
                    (shown, data, [*lines, {**lines[0], "wallet": "another"}], []),
                    (shown, data, [{**lines[0], "points": 1}, *lines[1:]], [])):
            with self.assertRaises(e.Invalid):
                epoch_points.check_file(*lie)
        for x in v["invalidLines"]:
            with self.subTest(x["reason"]), self.assertRaises(e.Invalid):
                epoch_points.read_line(x["line"])

    def test_memos(self):
        v = vectors("points")
        shown = {"epoch": v["epoch"], "source": "computed", "pointsHash": v["pointsHash"]}
        imported = {"epoch": v["epoch"], "source": "import", "pointsHash": None}
        epoch_points.check_memo(shown, [v["memo"].encode()], v["pointsBytes"])
        epoch_points.check_memo(imported, [v["importMemo"].encode()], None)
        epoch_points.check_memo(imported, [], None)
        cases = [(shown, [m.encode() for m in x["memos"] if m.startswith("coinop:epoch:")]) for x in v["invalidMemos"]]
        cases += [(imported, [v["memo"].encode()]), ({**shown, "pointsHash": None}, [v["memo"].encode()])]
        for document, memos in cases:
            with self.subTest(memos), self.assertRaises(e.Invalid):
                epoch_points.check_memo(document, memos, v["pointsBytes"])


if __name__ == "__main__":
    unittest.main()
