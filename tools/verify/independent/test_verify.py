"""Runs the commands against a house, a beacon and a node that are made of the vectors. It needs no network."""

import base64
import contextlib
import copy
import hashlib
import http.server
import io
import json
import os
import sys
import tempfile
import threading
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import chain  # noqa: E402
import encoding as e  # noqa: E402
import payouts  # noqa: E402
import rules  # noqa: E402
import verify_round  # noqa: E402
from test_vectors import vectors  # noqa: E402

CODE, SLOT, CLOSED = b"\x7fELF of the test", 300001000, 1692806181
ACCOUNTS, ROUNDS, QUICKNET = vectors("accounts"), vectors("rounds"), vectors("beacon")["chains"]["quicknet"]
PROGRAM, TREASURY = ACCOUNTS["program"], ROUNDS[0]["audit"]["parameters"]["treasury"]
SIGNATURE = e.base58_encode(b"\x07" * 64)


class World:
    """A house, a beacon and a node in which one round of the vectors has happened."""

    def __init__(self, vector):
        self.audit = copy.deepcopy(vector["audit"])
        self.entries = "".join(x["line"] + "\n" for x in vector["entries"])
        self.now, self.answers, self.fast = CLOSED + 400, {}, 0
        c, p = self.audit["commitment"], self.audit["parameters"]
        commitment = bytearray.fromhex(ACCOUNTS["commitment"]["data"])
        _, bump = e.program_address([b"commitment", e.key32(p["draws"]), e.uuid(p["round"])], e.key32(PROGRAM))
        commitment[9], commitment[16:32], commitment[56:88] = bump, e.uuid(p["round"]), e.hex_bytes(c["leaf"])
        self.accounts = {PROGRAM: (e.base58_encode(chain.LOADER), CODE), c["account"]: (PROGRAM, bytes(commitment)),
                         p["draws"]: (PROGRAM, bytes.fromhex(ACCOUNTS["draws"]["data"]))}
        self.blockhash, self.account = c["blockhash"], c["account"]
        self.pay()

    def pay(self):
        """Makes the payouts and their transaction."""
        round_id, batch = self.audit["round"], "2fb3e06f-a1a2-698f-5c14-3ef010543f11"
        prizes = [w for w in self.audit["winners"] if w["prize"]["amount"] != "0"]
        self.members = [{"paymentId": f"00000000-0000-0000-0000-{w['place']:012}", "round": round_id,
                         "place": w["place"], "wallet": w["wallet"], **w["prize"]} for w in prizes]
        other = {**self.members[0], "paymentId": round_id, "round": None, "place": None} if prizes else None
        members = self.members + [other] if prizes else []
        self.payouts = {"round": round_id, "more": True, "batches": [{"id": batch, "members": members}] * bool(prizes),
                        "payouts": [{**{k: v for k, v in m.items() if k != "round"}, "signature": SIGNATURE,
                                     "batch": batch} for m in self.members]}
        keys = [TREASURY, payouts.MEMO, payouts.TOKEN]
        memo = f"coinop:payout:{batch}:{rules.members_hash(members).hex()}".encode()
        instructions = [{"programIdIndex": 1, "accounts": [], "data": e.base58_encode(memo)}]
        for m in members:
            accounts = [e.base58_encode(payouts.token_account(TREASURY, m["mint"])), m["mint"],
                        e.base58_encode(payouts.token_account(m["wallet"], m["mint"])), TREASURY]
            data = b"\x0c" + e.le(int(m["amount"]), 8) + b"\x06"
            instructions.append({"programIdIndex": 2, "data": e.base58_encode(data),
                                 "accounts": list(range(len(keys), len(keys) + 4))})
            keys += accounts
        self.transaction = {"slot": SLOT + 600, "blockTime": CLOSED + 210, "meta": {"err": None},
                            "transaction": {"message": {"accountKeys": keys, "instructions": instructions}}}

    def node(self, method, params):
        """The result of a method of the node."""
        if method == "getGenesisHash":
            return self.audit["parameters"]["genesisHash"]
        if method == "getMultipleAccounts":
            found = self.accounts.get(params[0][0])
            value = found and {"owner": found[0], "data": [base64.b64encode(found[1]).decode(), "base64"]}
            return {"value": [value]}
        if method == "getBlock":
            ahead = params[0] - SLOT
            if ahead % 5 == 3:
                raise KeyError(-32007)
            moment = CLOSED + 5 + ahead * 2 // 5 + (self.fast if ahead > 50 else 0)
            return {"blockhash": self.blockhash, "blockTime": moment}
        if method == "getTransaction":
            return self.transaction if params[0] == SIGNATURE else None
        return {"getSlot": SLOT + int(self.now - CLOSED) // 2 * 5, "getFirstAvailableBlock": 5}[method]

    def get(self, path):
        """An answer of the house or of the beacon."""
        if path.startswith("/drand"):
            return json.dumps({"round": 1000, "signature": ROUNDS[0]["audit"]["beacon"]["signature"]})
        if ("/chat/round/" in path) != (self.audit["parameters"]["kind"] == "chat"):
            return None
        name = path.rsplit("/", 1)[1]
        return self.answers.get(name, {"audit": json.dumps(self.audit), "entries?format=ndjson": self.entries,
                                       "payouts": json.dumps(self.payouts)}.get(name))

    def verify(self, *more, pins=True):
        """Runs the command and returns the exit code; what it printed is in `self.output`."""
        world = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, text):
                self.send_response(404 if text is None else text if isinstance(text, int) else 200)
                self.end_headers()
                self.wfile.write((text if isinstance(text, str) else "").encode())

            def do_GET(self):
                self.answer(world.get(self.path))

            def do_POST(self):
                call = json.loads(self.rfile.read(int(self.headers["content-length"])))
                try:
                    self.answer(json.dumps({"result": world.node(call["method"], call["params"])}))
                except KeyError as error:
                    self.answer(json.dumps({"error": {"code": error.args[0]}}))

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        url, output = f"http://127.0.0.1:{server.server_port}", io.StringIO()
        pin = ["--pin-program", chain.code_hash(CODE).hex(), "--pin-draws", self.audit["parameters"]["draws"],
               "--pin-treasury", TREASURY, "--pin-genesis", ROUNDS[0]["audit"]["parameters"]["genesisHash"]]
        try:
            with mock.patch.object(chain, "WAIT", 0), mock.patch("time.time", lambda: self.now), \
                    contextlib.redirect_stdout(output):
                return verify_round.main([self.audit["round"], "--house", url, "--rpc", url, "--mirror", url + "/drand",
                                          *(pin if pins else []), *more])
        finally:
            server.shutdown()
            server.server_close()
            self.output = output.getvalue()


class VerifyRound(unittest.TestCase):
    def expect(self, world, code, *more, text="", **options):
        got = world.verify(*more, **options)
        self.assertEqual(got, code, world.output)
        self.assertIn(text, world.output)

    def changed(self, code, text, change, *more):
        """Expects a verdict on the first round of the vectors after a change."""
        with self.subTest(text):
            world = World(ROUNDS[0])
            change(world)
            self.expect(world, code, *more, text=text)

    def keep(self, signed):
        """Writes a statement to a file and returns its name."""
        handle, path = tempfile.mkstemp()
        self.addCleanup(os.remove, path)
        with os.fdopen(handle, "w") as file:
            json.dump({k: signed[k] for k in ("statement", "signature")}, file)
        return path

    def test_all_rounds_are_true(self):
        for vector in ROUNDS:
            with self.subTest(vector["name"]):
                self.expect(World(vector), 0)

    def test_form_of_the_entries_does_not_matter(self):
        self.changed(0, "entries", lambda w: setattr(w, "entries", w.entries[:-1].replace(",", ", ")))

    def test_house_that_does_not_answer(self):
        for status in (429, 503):
            for name in ("audit", "entries?format=ndjson", "payouts"):
                self.changed(2, f"answers {status}", lambda w: w.answers.update({name: status}))
        self.changed(2, "not JSON", lambda w: w.answers.update(audit="<html>"))
        self.changed(2, "not JSON", lambda w: w.answers.update(payouts="<html>"))

    def test_without_pins(self):
        self.expect(World(ROUNDS[0]), 2, text="its code is not known", pins=False)

    def test_kept_statements(self):
        good, others = vectors("statements")["statements"][:3], vectors("statements")["statements"][3:]
        kept = [x for s in good for x in ("--kept", self.keep(s))]
        self.expect(World(ROUNDS[0]), 0, *kept)
        self.expect(World(ROUNDS[0]), 2, "--kept", self.keep(others[0]), text="not signed by the receipt key")
        self.expect(World(ROUNDS[1]), 2, "--kept", self.keep(good[0]), text="about another round")

    def test_receipt_of_another_entry(self):
        receipt = vectors("statements")["statements"][1]
        for change in ({"wallet": TREASURY}, {"index": 6}, {"index": 99}, {"runningHash": "0" * 64}):
            kept = self.keep(self.sign(receipt, **change))
            self.expect(World(ROUNDS[0]), 1, "--kept", kept, text="receipt")
        kept = self.keep(self.sign(ROUNDS[0]["audit"]["closed"], count=13))
        self.expect(World(ROUNDS[0]), 1, "--kept", kept, text="the kept closing differs")

    def test_false(self):
        wrong = ROUNDS[1]["audit"]

        def audit(*path, value):
            def change(world):
                place = world.audit
                for key in path[:-1]:
                    place = place[key]
                place[path[-1]] = value
            return change

        self.changed(1, "differs from the computed", audit("winners", 0, "place", value=2))
        self.changed(1, "differs from the computed", audit("draw", value=None))
        self.changed(1, "parametersHash is wrong", audit("parametersHash", value="0" * 64))
        self.changed(1, "no valid signature", audit("closed", "signature", value=wrong["closed"]["signature"]))
        self.changed(1, "additional fields", audit("more", value=1))
        self.changed(1, "says void", audit("void", value="no-entries"))
        self.changed(1, "another count", audit("entries", "root", value="0" * 64))
        self.changed(1, "count or running hash", lambda w: setattr(w, "entries", w.entries[:w.entries.rindex("{")]))
        self.changed(1, "the house answers 404 for the audit although", lambda w: w.answers.update(audit=None))
        self.changed(1, "not the pinned one", lambda w: None, "--pin-chain", "00" * 32)
        self.changed(1, "chain does not have the commitment", lambda w: w.accounts.pop(w.account))
        self.changed(1, "another leaf", lambda w: w.accounts.update({w.account: (PROGRAM, w.accounts[w.account][1][:56]
                     + bytes(32) + w.accounts[w.account][1][88:])}))
        self.changed(1, "the transaction failed", lambda w: w.transaction["meta"].update(err={}))
        self.changed(1, "memo", lambda w: w.payouts["batches"][0]["members"].reverse())
        self.changed(1, "no later slot", lambda w: w.transaction.update(slot=SLOT))
        self.changed(1, "differs from the prize", lambda w: w.payouts["payouts"][0].update(amount="1"))

    def test_cannot_be_checked(self):
        self.changed(2, "has version 3", lambda w: w.audit.update(version=3))
        self.changed(2, "upgrade authority", upgradeable)
        self.changed(2, "time of the blocks advances", lambda w: setattr(w, "fast", 90))
        self.changed(2, "result existed", lambda w: w.transaction.update(blockTime=CLOSED + 100))
        self.changed(2, "has not published the result yet", unpublish)

    def test_void(self):
        world = World(ROUNDS[0])
        no_hash = world.audit["parametersHash"]
        world.audit.update(void="no-entries", commitment=None, beacon=None, draw=None, winners=None,
                           entries={"count": 0, "root": None, "runningHash": no_hash}, announcement=self.sign(
                               world.audit["announcement"]), closed=self.sign(world.audit["closed"], count=0,
                                                                              runningHash=no_hash))
        world.entries = ""
        account = world.accounts.pop(world.account)
        self.expect(world, 0, text="void: the round had no entries")
        world.accounts[world.account] = account
        self.expect(world, 1, text="there is a commitment")

    def sign(self, signed, **changes):
        """A statement with changes, signed with the secret key of the vectors."""
        statement, v = {**signed["statement"], **changes}, vectors("statements")
        h = hashlib.sha512(bytes.fromhex(v["secretKey"])).digest()
        a = int.from_bytes(h[:32], "little") & (2**254 - 8) | 2**254
        text, base = e.jcs(statement).encode(), e.curve_point(e.le(4 * pow(5, -1, e.Q) % e.Q, 32))

        def number(*parts):
            return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % e.ORDER

        r = number(h[32:], text)
        x, y, z, _ = e.curve_multiply(base, r)
        inverse = pow(z, -1, e.Q)
        point = e.le(y * inverse % e.Q | (x * inverse % e.Q & 1) << 255, 32)
        s = (r + number(point, e.key32(v["receiptKey"]), text) * a) % e.ORDER
        return {"statement": statement, "signature": (point + e.le(s, 32)).hex()}

    def test_late_or_unpaid(self):
        self.changed(3, "paid late", lambda w: w.transaction.update(blockTime=CLOSED + 4000))
        self.changed(3, "no transaction", lambda w: w.payouts["payouts"][2].update(signature=None, batch=None))
        self.changed(3, "has not published the result", lambda w: (unpublish(w), setattr(w, "now", CLOSED + 900)))

    def test_uncommitted(self):
        def uncommitted(seconds):
            def change(world):
                unpublish(world)
                world.audit.update(commitment=None, beacon=None)
                world.accounts.pop(world.account)
                world.now = CLOSED + seconds
            return change

        closing = ["--kept", self.keep(ROUNDS[0]["audit"]["closed"])]
        self.changed(2, "not committed yet", uncommitted(30), *closing)
        self.changed(3, "not committed in time", uncommitted(100), *closing)
        self.changed(1, "one hour", uncommitted(3700), *closing)
        self.changed(3, "not committed in time", uncommitted(3700))


def unpublish(world):
    """Takes the result back."""
    world.audit.update(draw=None, winners=None)
    world.audit["beacon"].update(signature=None, randomness=None)


def upgradeable(world):
    """Puts the program under the loader that can upgrade it."""
    address, _ = e.program_address([e.key32(PROGRAM)], chain.UPGRADEABLE)
    owner = e.base58_encode(chain.UPGRADEABLE)
    world.accounts[PROGRAM] = (owner, b"\2\0\0\0" + address)
    world.accounts[e.base58_encode(address)] = (owner, b"\3\0\0\0" + bytes(8) + b"\1" + bytes(32) + CODE)


if __name__ == "__main__":
    unittest.main()
