"""Runs the functions of the verifier over the test vectors in docs/verification/. Start it with
`python3 -m unittest discover tools/verify/independent`, from anywhere in the project."""

import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import beacon  # noqa: E402
import bls  # noqa: E402
import chain  # noqa: E402
import encoding as e  # noqa: E402
import payouts  # noqa: E402
import rules  # noqa: E402
import verify_epoch  # noqa: E402

VECTORS = os.path.join(HERE, "..", "..", "..", "docs", "verification")


def vectors(name):
    """The content of a file of vectors."""
    with open(os.path.join(VECTORS, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


class FakeNode:
    """A node that has some accounts, each {owner, data} with the data in hex."""

    def __init__(self, accounts):
        self.accounts = accounts

    def account(self, address):
        """An account as (owner, data), or None."""
        found = self.accounts.get(address)
        return found and (e.key32(found["owner"]), bytes.fromhex(found["data"]))

    def certain(self, read, _began):
        """What `read` returns."""
        return read()


class Parameters(unittest.TestCase):
    def test_canonical_text_and_hash(self):
        for v in vectors("parameters"):
            self.assertEqual(e.jcs(v["parameters"]), v["canonical"])
            self.assertEqual(rules.check_parameters(v["parameters"]).hex(), v["hash"])

    def test_invalid_values(self):
        good = vectors("parameters")[0]["parameters"]
        for change in ({"version": 1}, {"picks": 6}, {"leadSec": 0}, {"commitWithinSec": 121}, {"more": 1},
                       {"opensAt": "2023-08-23T15:00:00Z"}, {"prizes": []}, {"leadSec": True}, {"range": 256}):
            with self.assertRaises(e.Invalid):
                rules.check_parameters({**good, **change})


class Entries(unittest.TestCase):
    def test_lines_and_leaves(self):
        for v in vectors("entries"):
            rules.check_entry(v["entry"])
            self.assertEqual(e.jcs(v["entry"]), v["line"])
            self.assertEqual(rules.entry_leaf(v["round"], v["entry"]).hex(), v["leaf"])

    def test_derived_numbers(self):
        for v in vectors("numbers")["derived"]:
            self.assertEqual(rules.derived_numbers(v["entryId"], v["wallet"], v["picks"], v["range"]), v["numbers"])

    def test_rejected_raw_values(self):
        v = vectors("numbers")["rejection"]
        stream = rules.Stream(map(int, v["raws"]))
        for draw in v["draws"]:
            stream.below(draw["bound"])
        self.assertEqual(stream.draws, v["draws"])


class Statements(unittest.TestCase):
    def test_texts_and_signatures(self):
        v = vectors("statements")
        for signed in v["statements"]:
            statement = {k: signed[k] for k in ("statement", "signature")}
            rules.check_statement(statement)
            if "signedText" in signed:
                self.assertEqual(e.jcs(signed["statement"]), signed["signedText"])
            self.assertEqual(rules.has_signature(statement, e.key32(v["receiptKey"])), signed["valid"])

    def test_encodings_that_are_not_canonical(self):
        v = vectors("statements")
        key, signed = e.key32(v["receiptKey"]), v["statements"][0]
        signature, text = bytes.fromhex(signed["signature"]), e.jcs(signed["statement"]).encode()
        self.assertTrue(e.is_signed(key, text, signature))
        above = signature[:32] + e.le(int.from_bytes(signature[32:], "little") + e.ORDER, 32)
        self.assertFalse(e.is_signed(key, text, above))


class Rounds(unittest.TestCase):
    def test_whole_rounds(self):
        for v in vectors("rounds"):
            with self.subTest(v["name"]):
                self.check(v, v["audit"])

    def check(self, v, audit):
        p, lines = audit["parameters"], [x["line"] for x in v["entries"]]
        self.assertEqual(e.jcs(p), v["canonicalParameters"])
        p_hash = rules.check_parameters(p)
        self.assertEqual(p_hash.hex(), audit["parametersHash"])
        closed = rules.check_statement(audit["closed"], "coinop/closed/1")
        closed_at = e.instant(closed["closedAt"])
        entries = rules.read_entries("".join(x + "\n" for x in lines).encode(), p, closed_at)
        leaves = [rules.entry_leaf(audit["round"], x) for x in entries]
        hashes, levels = rules.running_hashes(p_hash, leaves), rules.tree(leaves)
        self.assertEqual([x.hex() for x in leaves], [x["leaf"] for x in v["entries"]])
        self.assertEqual([x.hex() for x in hashes[1:]], [x["runningHash"] for x in v["entries"]])
        self.assertEqual([x.hex() for x in rules.proof(levels, len(leaves) - 1)], v["proofOfLastEntry"])
        root = levels[-1][0]
        self.assertEqual(audit["entries"],
                         {"count": len(entries), "root": root.hex(), "runningHash": hashes[-1].hex()})
        leaf = rules.round_leaf(audit["round"], root, len(entries), hashes[-1], p_hash, closed_at)
        c, b = audit["commitment"], audit["beacon"]
        self.assertEqual(leaf.hex(), c["leaf"])
        program = e.key32(vectors("accounts")["program"])
        address, _ = e.program_address([b"commitment", e.key32(p["draws"]), e.uuid(audit["round"])], program)
        self.assertEqual(e.base58_encode(address), c["account"])
        seed = rules.draw_seed(audit["round"], leaf, e.hex_bytes(b["chainHash"]), b["round"],
                               e.hex_bytes(b["randomness"]), e.key32(c["blockhash"]))
        draw, winners = rules.result(seed, p, entries)
        self.assertEqual(draw, audit["draw"])
        self.assertEqual(winners, audit["winners"])
        for x, entry in zip(v["entries"], entries):
            self.assertEqual(rules.tie(seed, entry["index"]).hex(), x["tie"])


class Json(unittest.TestCase):
    def test_numbers(self):
        for v in vectors("json")["numbers"]:
            with self.subTest(v["text"]):
                value = e.read_json(v["text"])
                if v["integer"] is None:
                    with self.assertRaises(e.Invalid):
                        e.integer(value, 0, 2**53 - 1)
                else:
                    self.assertEqual(e.integer(value, 0, 2**53 - 1), v["integer"])

    def test_canonical_texts(self):
        for v in vectors("json")["texts"]:
            self.assertEqual(e.jcs(e.read_json(v["text"])), v["canonical"])


class Payouts(unittest.TestCase):
    def test_transactions(self):
        v = vectors("transactions")
        for t in v["transactions"]:
            with self.subTest(t["name"]):
                arguments = t["answer"], v["batch"], v["members"], v["treasury"]
                if t["valid"]:
                    payouts.check_transaction(*arguments)
                else:
                    with self.assertRaises(e.Invalid):
                        payouts.check_transaction(*arguments)

    def test_token_accounts(self):
        for v in vectors("accounts")["tokenAccounts"]:
            self.assertEqual(e.base58_encode(payouts.token_account(v["wallet"], v["mint"])), v["address"])

    def test_members_and_memos(self):
        for v in vectors("payouts"):
            self.assertEqual(rules.members_hash(v["members"]).hex(), v["hash"])
            batch = v["memo"].split(":")[2]
            self.assertEqual(f"coinop:payout:{batch}:{v['hash']}", v["memo"])


class Accounts(unittest.TestCase):
    def test_accounts(self):
        v = vectors("accounts")
        d, program = v["draws"], e.key32(v["program"])
        address, bump = e.program_address([b"draws", e.key32(d["founder"])], program)
        self.assertEqual((e.base58_encode(address), bump), (d["address"], d["bump"]))
        self.assertEqual(len(bytes.fromhex(d["data"])), 160)
        account = chain.read_draws(bytes.fromhex(d["data"]))
        shown = {k: d[k] for k in ("bump", "isDevelopment", "margin", "window", "period", "genesis", "chainHash")}
        shown |= {k: e.key32(d[k]) for k in ("founder", "committer", "receiptKey")}
        self.assertEqual({**account, "chainHash": account["chainHash"].hex()}, shown)
        development = chain.read_draws(bytes.fromhex(v["developmentDraws"]["data"]))
        self.assertEqual((development["isDevelopment"], development["margin"], development["window"]), (True, 0, 1))

    def test_commitment(self):
        v = vectors("accounts")
        c = v["commitment"]
        seeds = [b"commitment", e.key32(c["draws"]), e.uuid(c["round"])]
        address, bump = e.program_address(seeds, e.key32(v["program"]))
        self.assertEqual((e.base58_encode(address), bump), (c["address"], c["bump"]))
        account = chain.read_commitment(bytes.fromhex(c["data"]))
        self.assertEqual(account, {**{k: c[k] for k in ("bump", "beaconRound", "slot", "time")},
                                   "round": e.uuid(c["round"]), "leaf": e.hex_bytes(c["leaf"]),
                                   "draws": e.key32(c["draws"])})
        for wrong in (b"", bytes(120), bytes.fromhex(c["data"])[:-1], b"x" + bytes.fromhex(c["data"])[1:]):
            self.assertIsNone(chain.read_commitment(wrong))

    def test_addresses_and_program_hash(self):
        v = vectors("accounts")
        for a in v["addresses"]:
            address, bump = e.program_address([b"draws", e.key32(a["founder"])], e.key32(v["program"]))
            self.assertEqual((e.base58_encode(address), bump), (a["address"], a["bump"]))
        self.assertEqual(chain.code_hash(bytes.fromhex(v["programs"]["bytes"])).hex(), v["programs"]["hash"])


    def test_deployed_programs(self):
        v = vectors("accounts")["deployed"]
        program, data_address = e.key32(v["program"]), e.key32(v["dataAddress"])
        self.assertEqual(e.program_address([program], chain.UPGRADEABLE), (data_address, v["dataBump"]))
        for case in v["cases"]:
            with self.subTest(case["name"]):
                node = FakeNode({program: case["account"], data_address: case["dataAccount"]})
                if case["deployed"] is None:
                    with self.assertRaises(chain.Unreachable):
                        chain.read_program(node, program)
                    continue
                code, is_upgradeable, slot = chain.read_program(node, program)
                self.assertEqual({"hash": code.hex(), "isUpgradeable": is_upgradeable, "deployedIn": slot or None},
                                 case["deployed"])


class Beacon(unittest.TestCase):
    def test_chains(self):
        facts = vectors("beacon")["chains"]
        self.assertEqual(facts["quicknet"], beacon.QUICKNET)
        for chain_facts in facts.values():
            self.assertEqual(beacon.chain_hash(chain_facts).hex(), chain_facts["chainHash"])

    def test_signatures(self):
        v = vectors("beacon")
        for s in v["signatures"]:
            facts = v["chains"][s["chain"]]
            self.assertEqual(beacon.message(s["round"]).hex(), s["message"])
            self.assertEqual(e.show_instant(1000 * beacon.time_of(facts, s["round"])), s["time"])
            randomness = beacon.randomness(facts, s["round"], s["signature"])
            self.assertEqual(randomness and randomness.hex(), s["randomness"])
            self.assertEqual(randomness is not None, s["valid"])


    def test_point_outside_the_subgroup(self):
        x = next(x for x in range(1, 99) if bls.Fp2(x**3 + 4).root() and bls.Fp2(x**3 + 4).root().b == 0)
        encoded = bytes([0x80]) + x.to_bytes(47, "big")
        self.assertIsNone(bls.decode(encoded, False))
        y = bls.Fp2(x**3 + 4).root()
        self.assertIsNotNone(bls.multiply((bls.Fp2(x), y), bls.R))


class Epochs(unittest.TestCase):
    def test_leaves_proofs_and_root(self):
        v = vectors("epochs")
        leaves = [rules.epoch_leaf(v["epoch"], x["index"], x["wallet"], int(x["amount"])) for x in v["leaves"]]
        levels = rules.tree(leaves)
        self.assertEqual(levels[-1][0].hex(), v["root"])
        for i, x in enumerate(v["leaves"]):
            self.assertEqual(leaves[i].hex(), x["leaf"])
            self.assertEqual([s.hex() for s in rules.proof(levels, i)], x["proof"])

    def test_account(self):
        v = vectors("epochs")
        a, amounts = v["account"], [int(x["amount"]) for x in v["leaves"]]
        program, authority, mint = (e.key32(a[k]) for k in ("program", "authority", "mint"))
        address, bump = e.program_address([b"epoch", authority, mint, e.le(a["epoch"], 8)], program)
        self.assertEqual((e.base58_encode(address), bump), (a["address"], a["bump"]))
        self.assertEqual(e.base58_encode(payouts.token_account(a["address"], a["mint"])), a["vault"])
        node = FakeNode({e.key32(x["address"]): {"owner": a["program"], "data": x["data"]} for x in (a, a["page"])})
        found, paid, _ = verify_epoch.read_chain(node, address, e.key32(a["vault"]), program, amounts, 0)
        shown = {k: a[k] for k in ("state", "leaves", "epoch", "expiry", "root")}
        shown |= {"total": int(a["total"]), "claimed": int(a["claimed"]), "authority": authority, "mint": mint,
                  "vault": e.key32(a["vault"])}
        self.assertEqual(found, shown)
        self.assertEqual(paid, [amounts[i] for i in a["page"]["marked"]])
        self.assertEqual(sum(paid), int(a["claimed"]))

    def test_allocations(self):
        for v in vectors("epochs")["allocations"]:
            cap = None if v["cap"] is None else int(v["cap"])
            points = {w["wallet"]: w["points"] for w in v["wallets"]}
            amounts = rules.allocate(int(v["pool"]), cap, int(v["dust"]), points)
            self.assertEqual({w: str(n) for w, n in amounts.items()}, {w["wallet"]: w["amount"] for w in v["wallets"]})
            self.assertEqual(str(sum(amounts.values())), v["total"])


if __name__ == "__main__":
    unittest.main()
