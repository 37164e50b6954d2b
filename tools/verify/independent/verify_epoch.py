"""Verifies a reward epoch: section 11 of docs/verification.md. `--help` tells how to call it."""

import argparse
import datetime
import struct
import sys
import time

import chain
import epoch_points
import rules
from chain import Unreachable
from encoding import (amount, base58_encode, demand, hex_bytes, instant, integer, key32, le, program_address,
                      read_json)
from house import read_file
from payouts import TOKEN, some, token_account
from report import Report

KNOWN_PROGRAM = "38ecdf2a82e64ab3b7f4a792674af60b8963e52e301748e7b846151224146209"
HEADER = "epoch source formulaVersion pool cap dust points wallets leaves total undistributed root"
ON_CHAIN = "program authority mint account vault claimed claims"
STATES = {1: "open", 2: "settled", 3: "closed"}
CLAIMS = 4096  # of a page
HOUR = 3600  # the clocks may differ by so many seconds


def check_header(header, number):
    """The fields that the document and the first line of the leaves share."""
    some(header, HEADER)
    integer(header["epoch"], number, number)
    demand(header["source"] in ("computed", "import"), "unknown source")
    for field in ("pool", "dust", "total", "undistributed"):
        amount(header[field])
    for field, check in (("cap", amount), ("root", hex_bytes)):
        if header[field] is not None:
            check(header[field])
    return {k: header[k] for k in HEADER.split()}


def check_lines(header, lines):
    """The lines, their order, their sums and the root. Returns the amounts of the leaves."""
    for i, x in enumerate(lines):
        some(x, "index wallet points amount")
        key32(x["wallet"])
        demand(x["index"] == (i if i < header["leaves"] else None), f"line {i + 2} has another index")
        demand((amount(x["amount"]) > 0) == (x["index"] is not None), f"line {i + 2}: index and amount contradict")
        if x["points"] is not None:
            integer(x["points"], -(2**53), 2**53)
    demand(len({x["wallet"] for x in lines}) == len(lines), "a wallet appears twice")
    paid = [x for x in lines if x["index"] is not None]
    demand((header["wallets"], header["leaves"]) == (len(lines), len(paid)), "wallets or leaves are wrong")
    if header["source"] == "computed":
        integer(header["formulaVersion"], 1, 1)
        points = {x["wallet"]: x["points"] or 0 for x in lines}
        demand(header["points"] == sum(points.values()), "points are not the sum of the lines")
        cap = None if header["cap"] is None else amount(header["cap"])
        due = rules.allocate(amount(header["pool"]), cap, amount(header["dust"]), points)
        for x in lines:
            own = due[x["wallet"]]
            demand(x["amount"] == str(own), f"{x['wallet']} gets {x['amount']} instead of {own}")
    total = sum(int(x["amount"]) for x in lines)
    rest = int(header["pool"]) - total
    demand((header["total"], header["undistributed"]) == (str(total), str(rest)), "sums are wrong")
    leaves = [rules.epoch_leaf(header["epoch"], i, x["wallet"], int(x["amount"])) for i, x in enumerate(paid)]
    root = rules.tree(leaves)[-1][0].hex() if leaves else None
    demand(header["root"] == root, "the root is not that of the leaves")
    return [int(x["amount"]) for x in paid]


def read_epoch(node, address, program, began):
    """The account of an epoch."""
    account = node.certain(lambda: node.account(address), began)
    demand(account and account[0] == program, "the account of the epoch does not exist")
    data = account[1]
    demand(len(data) == 240 and data[:9] == b"CoinopEp\x01" and data[9] in STATES, "the account is not an epoch")
    leaves, epoch, total, claimed, expiry = struct.unpack_from("<IQQQq", data, 12)
    return {"state": STATES[data[9]], "leaves": leaves, "epoch": epoch, "total": total, "claimed": claimed,
            "expiry": expiry, "root": data[48:80].hex(), "authority": data[80:112], "mint": data[112:144],
            "vault": data[144:176]}


def read_page(node, address, program, page, amounts):
    """The amounts of the leaves that a page marks as paid."""
    account = node.account(program_address([b"claimed", address, le(page, 4)], program)[0])
    if not account or account[0] != program:
        return []
    data, own = account[1], amounts[CLAIMS * page:CLAIMS * (page + 1)]
    form = len(data) == 48 + (len(own) + 7) // 8 and data[:9] == b"CoinopPg\x01"
    demand(form and data[12:16] == le(page, 4) and data[16:48] == address, f"page {page} is not one of this epoch")
    marked = [i for i in range(8 * (len(data) - 48)) if data[48 + i // 8] >> i % 8 & 1]
    demand(all(i < len(own) for i in marked), f"page {page} marks a leaf that does not exist")
    return [own[i] for i in marked]


def read_chain(node, address, vault, program, amounts, began):
    """The account, the paid amounts (None when the epoch is closed) and the account of the vault, at one time."""
    for _ in range(10):
        found = read_epoch(node, address, program, began)
        if found["state"] == "closed":
            return found, None, None
        pages = range((len(amounts) + CLAIMS - 1) // CLAIMS)
        paid = [n for p in pages for n in read_page(node, address, program, p, amounts)]
        tokens = node.account(vault)
        if read_epoch(node, address, program, began) == found:
            return found, paid, tokens
    raise Unreachable("claims arrive faster than the node answers")


def check_account(o, node, shown, amounts, began):
    """The account of the epoch, its pages and its vault. `shown` is the document. Returns the addresses of the account and
    of the program."""
    c = some(shown["onChain"], ON_CHAIN)
    for field in ("program", "authority", "mint"):
        pin = getattr(o, field)
        demand(pin in (None, c[field]), f"the {field} is not the pinned one")
    program, authority, mint = key32(c["program"]), key32(c["authority"]), key32(c["mint"])
    address, _ = program_address([b"epoch", authority, mint, le(o.epoch, 8)], program)
    vault = token_account(base58_encode(address), c["mint"])
    demand((key32(c["account"]), key32(c["vault"])) == (address, vault), "account or vault is not the derived address")
    found, paid, tokens = read_chain(node, address, vault, program, amounts, began)
    expires = shown["expiresAt"] and instant(shown["expiresAt"]) / 1000
    for field, value in (("epoch", o.epoch), ("root", shown["root"]), ("total", int(shown["total"])), ("vault", vault),
                         ("leaves", shown["leaves"]), ("authority", authority), ("mint", mint), ("expiry", expires)):
        demand(found[field] == value, f"{field} of the account differs from the document")
    check_state(found, shown)
    demand(found["claimed"] >= amount(c["claimed"]), "less is claimed than the house says")
    if paid is not None:
        demand(sum(paid) == found["claimed"] and len(paid) >= c["claims"], "the marked leaves are not the claimed ones")
    if found["state"] == "open":
        demand(tokens and tokens[0] == key32(TOKEN) and len(tokens[1]) == 165 and tokens[1][:64] == mint + address,
               "the vault is not that of the epoch")
        held = int.from_bytes(tokens[1][64:72], "little")
        demand(held >= found["total"] - found["claimed"], "the vault holds too little")
    return address, program


def check_program(node, program):
    """The program is the known one."""
    code, _, _ = chain.read_program(node, program)
    if code.hex() != KNOWN_PROGRAM:
        raise Unreachable(f"the program is not known ({code.hex()})")


def check_state(found, shown):
    """The state of the account fits the status of the document."""
    status, is_over = shown["status"], found["expiry"] < time.time() + HOUR
    allowed = {"settled", "closed"} if status == "settled" else set()
    if status in ("committed", "expired"):
        allowed = {"open"} | ({"closed"} if is_over else set())
        allowed |= {"settled", "closed"} if shown["settleRequestedAt"] else set()
    demand(found["state"] in allowed, f"the epoch is {found['state']} on the chain, but {status} in the document")
    demand(status != "expired" or is_over, "expired, but claims are possible")


def verify(o, get, report):
    """The checks."""
    began = time.time()
    shown = some(read_json(get(o.document, f"/api/rewards/epoch/{o.epoch}")), "epoch status")
    if shown["status"] == "computing":
        raise Unreachable("the house is still computing it")
    some(shown, HEADER + " status expiresAt settleRequestedAt onChain rulesVersion pointsHash commitSignature")
    demand(shown["status"] in ("empty", "computed", "committed", "expired", "settled"), "unknown status")
    path = f"/api/rewards/epoch/{o.epoch}/leaves"
    header, *lines = [read_json(line) for line in get(o.leaves, path).strip().split(b"\n")]
    demand(check_header(shown, o.epoch) == check_header(header, o.epoch), "the first line differs from the document")
    amounts = check_lines(header, lines)
    report.notes.append(f"the day is {datetime.date(1970, 1, 1) + datetime.timedelta(days=o.epoch)}")
    length = None
    if header["source"] == "import":
        demand(shown["pointsHash"] is None, "an import has no points file")
        report.words.append("all amounts")
    else:
        length = report.run("points", epoch_points.check, o, get, shown, lines)
        report.words.append("that the wallets earned their points from these sources, and that these rules applied")
    report.words += [f"the {f}, which is not pinned" for f in ("program", "authority", "mint") if not getattr(o, f)]
    if shown["onChain"] is None:
        demand(shown["status"] not in ("committed", "expired"), "committed, but not on the chain")
        return
    if not o.rpc:
        raise Unreachable("give --rpc")
    node = chain.Node(o.rpc)
    address, program = check_account(o, node, shown, amounts, began)
    report.run("memo", epoch_points.check_opening, node, shown, length, program, address)
    check_program(node, program)


def main(arguments=None):
    """The command."""
    parser = argparse.ArgumentParser(description="Verifies a reward epoch. Exit codes: 0 true, 1 false, 2 cannot be "
                                     "checked.")
    add = parser.add_argument
    add("epoch", type=int, help="days since 1970-01-01")
    add("--house", help="URL of the service, to which /api/rewards/epoch/… is appended; otherwise give files")
    add("--document", help="file of /api/rewards/epoch/{epoch}")
    add("--leaves", help="file of /api/rewards/epoch/{epoch}/leaves")
    add("--points", help="file of /api/rewards/epoch/{epoch}/points")
    add("--rules", help="file of /api/rewards/rules/{version}")
    add("--exclusions", help="file of /api/rewards/epoch/{epoch}/exclusions")
    add("--rpc", help="address of your own Solana node")
    for option in ("program", "authority", "mint"):
        add(f"--{option}", help=f"the {option} of the rewards, if you know it from elsewhere")
    o = parser.parse_args(arguments)
    report = Report()

    def get(file, path):
        if file:
            return read_file(file)
        if not o.house:
            raise Unreachable("neither --house nor a file is given")
        url = o.house.rstrip("/") + path
        status, data = chain.fetch(url)
        if status != 200:
            raise Unreachable(f"{url} answers {status}")
        return data

    report.run("epoch", verify, o, get, report)
    return report.show()


if __name__ == "__main__":
    sys.exit(main())
