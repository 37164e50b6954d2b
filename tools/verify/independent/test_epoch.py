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

import chain  # noqa: E402
import encoding as e  # noqa: E402
import payouts  # noqa: E402
import rules  # noqa: E402
import verify_epoch  # noqa: E402
from test_vectors import vectors  # noqa: E402


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
            with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as output:
                leaves, document = os.path.join(folder, "leaves"), os.path.join(folder, "document")
                with open(leaves, "w", encoding="utf-8") as file:
                    file.write("".join(json.dumps(x) + "\n" for x in [header, *lines]))
                with open(document, "w", encoding="utf-8") as file:
                    json.dump({**header, "status": "computed", "expiresAt": None, "settleRequestedAt": None,
                               "onChain": None}, file)
                got = verify_epoch.main([str(epoch), "--leaves", leaves, "--document", document])
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
        known = bytes.fromhex(verify_epoch.KNOWN_PROGRAM)
        options = argparse.Namespace(rpc="", epoch=20777, **text)

        def check(state=1, claimed=14, held=7, marks=5, **changes):
            data = b"CoinopEp" + bytes([1, state, 255, 0]) + e.le(3, 4) + e.le(20777, 8) + e.le(21, 8)
            data += e.le(claimed, 8) + e.le(expires, 8) + b"\x11" * 32 + key["authority"] + key["mint"] + vault
            accounts = {address: (key["program"], data + bytes(64)),
                        page: (key["program"], b"CoinopPg\x01\xff\0\0" + bytes(4) + address + bytes([marks])),
                        vault: (e.key32(payouts.TOKEN), key["mint"] + address + e.le(held, 8) + bytes(93))}
            node = mock.Mock(account=accounts.get, certain=lambda read, _: read())
            with mock.patch.object(chain, "Node", lambda _: node), \
                    mock.patch.object(chain, "read_program", lambda *_: (known, 0, 0)):
                verify_epoch.check_account(options, {**shown, **changes}, amounts, 0)

        check()
        check(state=2, status="settled")
        for lie in ({"claimed": 13}, {"held": 6}, {"marks": 3}, {"marks": 9}, {"root": "22" * 32}, {"total": "22"},
                    {"state": 2}, {"state": 3}, {"status": "expired"}, {"leaves": 4}, {"status": "settled"}):
            with self.subTest(lie), self.assertRaises(e.Invalid):
                check(**lie)


if __name__ == "__main__":
    unittest.main()
