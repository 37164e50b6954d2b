"""Verifies a lottery round by docs/verification.md. `python3 verify_round.py --help` tells how to call it."""

import argparse
import sys
import time

import beacon
import chain
from chain import Unreachable
from chain_checks import ChainChecks
from document_checks import DocumentChecks
from encoding import Invalid, NotJson, hex_bytes, key32, read_json, uuid
from house import House, Refused
from payouts import check_payouts
from report import LATE, Report


class Verifier(DocumentChecks, ChainChecks):
    """The verification of one round."""

    def __init__(self, options, node, get_json=chain.get_json):
        self.options, self.node, self.get_json = options, node, get_json
        self.house, self.report, self.began = House(options), Report(), time.time()
        self.kept, self.draws, self.commitment, self.entries = [], None, None, None

    def run(self):
        """Runs the checks. What a check needs and did not get makes it impossible, and that is on record already."""
        run = self.report.run
        self.kept = [s for s in (run("rules", self.read_kept, path) for path in self.options.kept) if s]
        if not run("audit", self.check_audit):
            return self.report
        run("cluster", self.check_cluster)
        run("draws account", self.check_draws)
        run("rules", self.check_rules)
        run("statements", self.check_statements)
        run("entries", self.check_entries)
        if not self.draws:
            return self.report
        run("rules", self.check_kept)
        if self.entries is not None:
            run("receipts", self.check_receipts)
        is_known = run("commitment", self.read_commitment)
        run("program", self.check_program)
        run("development", self.check_development)
        self.facts = run("beacon", self.check_beacon)
        if self.commitment:
            self.check_draw(run)
        elif is_known:
            run("commitment", self.check_uncommitted)
        self.list_words()
        return self.report

    def check_draw(self, run):
        """The checks of a committed round."""
        is_right = self.entries is not None and run("commitment", self.check_commitment)
        if not self.facts:
            return
        self.due = beacon.time_of(self.facts, self.commitment["beaconRound"])
        run("times", self.check_times)
        if not self.draws["isDevelopment"] and self.began >= self.due:
            run("clock", self.check_clock)
        winners = run("result", self.check_result) if is_right else None
        if winners is not None:
            run("payouts", self.check_payouts, winners)

    def check_payouts(self, winners):
        """The payments of the prizes."""
        if all(w["prize"]["amount"] == "0" for w in winners):
            return
        try:
            document = read_json(self.house.get("payouts"))
        except NotJson as error:
            raise Unreachable(str(error)) from None
        except Refused as error:
            self.report.add("payouts", LATE, str(error))
            return
        for text in check_payouts(self.node, document, self.p, winners, self.commitment, self.due, self.began):
            self.report.add("payouts", LATE, text)

    def list_words(self):
        """What remains on the house's word."""
        words, o = self.report.words, self.options
        words += [] if o.pin_draws else ["the draws account, which is not pinned"]
        words += [] if o.pin_treasury else ["the treasury, which is not pinned"]
        words += [] if self.kept else ["that this is the announced round, and that no accepted entry is missing"]
        words.append("that wallets met the entry rules")


def parse(arguments):
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Verifies a lottery round. Exit codes: 0 true, 1 false, 2 cannot be "
                                     "checked, 3 true but late or unpaid.")
    add = parser.add_argument
    add("round", help="the id of the round")
    add("--rpc", required=True, help="address of your own Solana node")
    add("--house", help="URL of the service, to which /chat/round/… is appended")
    add("--kind", choices=("chat", "legacy"), help="kind of the round (otherwise both are tried)")
    add("--audit", help="file of the audit")
    add("--entries", help="file of the entries")
    add("--payouts", help="file of the payouts")
    add("--kept", action="append", default=[], help="file of an announcement, receipt or closing that you kept")
    add("--mirror", action="append", default=[], help="a drand mirror instead of the public ones")
    add("--development", action="store_true", help="accept development rules")
    for pin, text in (("draws", "draws account"), ("chain", "hash of the beacon chain"), ("treasury", "treasury"),
                      ("program", "hash of the program's code"), ("genesis", "genesis hash of the cluster")):
        add(f"--pin-{pin}", help=f"the {text} that you know from elsewhere")
    options = parser.parse_args(arguments)
    options.mirror = [m.rstrip("/") for m in options.mirror] or beacon.MIRRORS
    try:
        uuid(options.round)
        for pin, check in (("draws", key32), ("chain", hex_bytes), ("treasury", key32), ("program", hex_bytes),
                           ("genesis", key32)):
            value = getattr(options, "pin_" + pin)
            if value is not None:
                check(value)
    except Invalid as error:
        parser.error(str(error))
    return options


def main(arguments=None):
    """The command."""
    options = parse(arguments)
    verifier = Verifier(options, chain.Node(options.rpc))
    report = verifier.run()
    development = verifier.draws and verifier.draws["isDevelopment"]
    return report.show("true under development rules" if development else "true")


if __name__ == "__main__":
    sys.exit(main())
