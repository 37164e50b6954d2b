"""The checks of section 10 of docs/verification.md that look at the chain and the beacon: cluster, draws account,
program, development, commitment, beacon, times, clock and result."""

import beacon
import chain
import rules
from chain import Unreachable
from encoding import (base58_encode, demand, hex_bytes, jcs, key32, program_address, show_instant, uuid)
from report import LATE


class ChainChecks:
    """A part of the Verifier in verify_round.py."""

    def is_committed(self):
        """Whether a commitment is known of a round whose audit the house refuses."""
        known = [self.options.pin_draws] + [k["statement"]["draws"] for k in self.kept]
        for draws in filter(None, known):
            account = self.node.account(key32(draws))
            if account and self.commitment_at(account[0], key32(draws)):
                return True
        return False

    def commitment_at(self, program, draws):
        """The commitment of the round, or None."""
        self.address, bump = program_address([b"commitment", draws, uuid(self.options.round)], program)
        account = self.node.account(self.address)
        found = account and account[0] == program and chain.read_commitment(account[1])
        if not found:
            return None
        demand((found["bump"], found["draws"], found["round"]) == (bump, draws, uuid(self.options.round)),
               "the commitment account contradicts its address")
        return found

    def check_cluster(self):
        """The node is one of the cluster of the round."""
        pin, real, named = self.options.pin_genesis, self.node.genesis_hash(), self.p["genesisHash"]
        if pin and real != pin:
            raise Unreachable("the node is one of another cluster than the pinned one")
        if not pin and real != named:
            raise Unreachable("the node is one of another cluster than the round")
        demand(real == named, "the round names another cluster")

    def check_draws(self):
        """The draws account."""
        address, pin = self.p["draws"], self.options.pin_draws
        demand(pin in (None, address), "the draws account is not the pinned one")
        for s in (k["statement"] for k in self.kept):
            demand(s["round"] != self.p["round"] or s["draws"] == address,
                   "a kept statement names another draws account")

        def read():
            account = self.node.account(key32(address))
            content = account and chain.read_draws(account[1])
            return content and (account[0], content)

        found = self.node.certain(read, self.began)
        demand(found, "the draws account does not exist")
        self.program, draws = found
        demand(program_address([b"draws", draws["founder"]], self.program) == (key32(address), draws["bump"]),
               "the draws account is not that of its founder")
        self.draws = draws

    def read_commitment(self):
        """The commitment that the chain has, if any."""

        def read():
            return self.commitment_at(self.program, key32(self.p["draws"]))

        wants = self.audit["void"] is None
        self.commitment = self.node.certain(read, self.began) if wants else read()
        if self.commitment:
            demand(wants, "the audit says void, but there is a commitment")
        demand(self.commitment or self.audit["commitment"] is None, "the chain does not have the commitment")
        return True

    def check_program(self):
        """The program is the known one, and nobody can have changed it since."""
        code, has_authority, deployed = chain.read_program(self.node, self.program)
        for problem, text in (
            (code.hex() != (self.options.pin_program or chain.KNOWN_PROGRAM), f"its code is not known ({code.hex()})"),
            (has_authority, "it has an upgrade authority"),
            (self.commitment and deployed > self.commitment["slot"], "it was deployed after the commitment"),
        ):
            if problem:
                raise Unreachable(text)

    def check_development(self):
        """Development rules are accepted where they are in force."""
        if self.draws["isDevelopment"] and not self.options.development:
            raise Unreachable("development rules are in force")

    def check_beacon(self):
        """The chain of the beacon. Returns its facts."""
        wanted, pin = self.draws["chainHash"].hex(), self.options.pin_chain
        demand(pin in (None, wanted), "the beacon chain is not the pinned one")
        if not pin and wanted != beacon.QUICKNET["chainHash"]:
            if not self.draws["isDevelopment"]:
                raise Unreachable("the beacon chain is not quicknet and not pinned")
            self.report.words.append("that the beacon chain is independent of the house")
        facts = beacon.find_chain(wanted, self.options.mirror, self.get_json)
        if not facts:
            raise Unreachable("no mirror tells the facts of the chain")
        demand((facts["period"], facts["genesisTime"]) == (self.draws["period"], self.draws["genesis"]),
               "period or genesis of the draws account are not those of the chain")
        return facts

    def check_commitment(self):
        """The commitment holds the leaf of the round."""
        leaf = self.root and rules.round_leaf(self.p["round"], self.root, len(self.entries), self.hashes[-1],
                                              self.hash, self.closed_at)
        demand(self.commitment["leaf"] == leaf, "the commitment holds another leaf")
        self.leaf = leaf
        return True

    def check_uncommitted(self):
        """A round without commitment: void, or not committed yet, or late, or never."""
        shown = [self.audit[k] for k in ("commitment", "beacon", "draw", "winners")]
        demand(shown == [None] * 4, "the audit shows a commitment that the chain does not have")
        if self.entries is None:
            raise Unreachable("the entries are not known")
        if not self.entries:
            said = [k["statement"] for k in self.kept]
            demand(not any(s["type"] == "coinop/receipt/1" or s.get("count") for s in said),
                   "the round has no entries, although it accepted some")
            if self.audit["void"] is None:
                raise Unreachable("the round has no entries, and is not declared void yet")
            self.report.notes.append("void: the round had no entries")
            return
        deadline = self.closed_at / 1000 + self.p["commitWithinSec"]
        if self.began <= deadline:
            raise Unreachable("the round is not committed yet")
        demand(self.began <= deadline + 3600 or not any(
            k["statement"]["type"] == "coinop/receipt/1" or k["statement"].get("count") for k in self.kept),
               "the round is not committed one hour after its deadline")
        self.report.add("commitment", LATE, "the round is not committed in time")

    def check_times(self):
        """The times of the closing, the commitment and the beacon round."""
        c = self.commitment
        demand(self.draws["margin"] <= self.due - c["time"] <= self.p["leadSec"] + 60,
               f"there are {self.due - c['time']} s between the commitment and the beacon round")
        demand(1000 * c["time"] >= self.closed_at - 60000, "the commitment is older than the closing")
        if 1000 * c["time"] > self.closed_at + 1000 * self.p["commitWithinSec"]:
            self.report.add("commitment", LATE, "the commitment was late")

    def check_clock(self):
        """Block times do not run ahead after the commitment."""
        slot = self.commitment["slot"]
        begin = self.node.block(slot)
        if not begin or begin[1] is None:
            raise Unreachable("the node does not have the block of the commitment")
        blocks = [self.node.block_from(slot + 100)]
        if blocks[0][1] > self.due:
            raise Unreachable("fewer than 100 slots lie between the commitment and the time of the beacon round")
        try:
            blocks.append(self.node.block_from(slot + max(100, (self.due - begin[1]) * 10 // 4)))
        except Unreachable:
            pass  # slots took longer than nominal, or the node does not have it: the first block alone decides
        for number, moment in blocks:
            if moment - begin[1] > 0.8 * (number - slot) + 1:
                raise Unreachable(f"the time of the blocks advances {moment - begin[1]} s in {number - slot} slots")

    def check_result(self):
        """The result. Returns the winners, or None where the audit does not show them yet."""
        audit, c, facts = self.audit, self.commitment, self.facts
        due = self.due
        block = self.node.block(c["slot"])
        if not block:
            raise Unreachable("the node does not have the block of the commitment")
        commitment = {"account": base58_encode(self.address), "beaconRound": c["beaconRound"], "slot": c["slot"],
                      "at": show_instant(1000 * c["time"]), "leaf": c["leaf"].hex(), "blockhash": block[0]}
        shown = {**facts, "round": c["beaconRound"], "dueAt": show_instant(1000 * due), "signature": None,
                 "randomness": None}
        signature = beacon.find_signature(facts, c["beaconRound"], self.options.mirror, self.get_json)
        if not signature:
            raise Unreachable("the beacon does not answer with a valid signature" if self.began > due
                              else "the beacon round is not published yet")
        randomness = beacon.randomness(facts, c["beaconRound"], signature)
        seed = rules.draw_seed(self.p["round"], self.leaf, hex_bytes(facts["chainHash"]), c["beaconRound"], randomness,
                               key32(block[0]))
        draw, winners = rules.result(seed, self.p, self.entries)
        want = {"commitment": commitment, "beacon": {**shown, "signature": signature, "randomness": randomness.hex()},
                "draw": draw, "winners": winners}
        self.report.notes.append(f"drawn: {draw['drawn']}; winners: " + ", ".join(
            f"{w['place']}. {w['wallet']} {w['prize']['amount']} of {w['prize']['mint']}" for w in winners))
        if audit["draw"] is None and audit["winners"] is None:
            for field, partial in (("commitment", {**commitment, "blockhash": None}), ("beacon", shown)):
                demand(jcs(audit[field]) in (jcs(None), jcs(partial), jcs(want[field])),
                       f"{field} of the audit differs from the computed one")
            if self.began <= due + self.p["drawWithinSec"]:
                raise Unreachable("the house has not published the result yet")
            self.report.add("result", LATE, "the house has not published the result")
            return None
        for field, value in want.items():
            demand(jcs(audit[field]) == jcs(value), f"{field} of the audit differs from the computed one")
        return winners
