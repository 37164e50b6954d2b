"""The points file of a reward epoch and its memo: section 11 of docs/verification.md."""

import chain
from chain import Unreachable
from encoding import amount, base58_decode, base58_encode, demand, integer, read_json, sha256
from payouts import some

MEMOS = ("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo")
PREFIX = b"coinop:epoch:"
LIMIT = 2**53 - 1
PAGE = 500  # exclusions of a request
SHARED = "epoch formulaVersion rulesVersion pool cap dust"


def read_line(line):
    """A line of the points file as (wallet, points)."""
    some(line, "wallet points sources")
    demand(isinstance(line["wallet"], str) and isinstance(line["sources"], dict), "a line of the points file is invalid")
    integer(line["points"], -LIMIT, LIMIT)
    total = sum(integer(value, -LIMIT, LIMIT) for value in line["sources"].values())
    demand(total == line["points"], f"the sources of {line['wallet']} have another sum")
    return line["wallet"], line["points"]


def read_file(data):
    """The first line of a points file, and the points of the wallets."""
    header, *lines = [read_json(line) for line in data.removesuffix(b"\n").split(b"\n")]
    some(header, "type wallets points " + SHARED)
    demand(header["type"] == "coinop/points/1", "the points file has another type")
    pairs = [read_line(line) for line in lines]
    demand(all(a[0] < b[0] for a, b in zip(pairs, pairs[1:])), "the wallets of the points file are not ascending")
    demand((header["wallets"], header["points"]) == (len(pairs), sum(points for _, points in pairs)),
           "the sums of the points file are wrong")
    return header, dict(pairs)


def check_file(shown, data, lines, exclusions):
    """The points file against the document, the lines of the leaves and the exclusions."""
    demand(sha256(data).hex() == shown["pointsHash"], "the hash of the points file is not pointsHash")
    header, points = read_file(data)
    demand(all(header[field] == shown[field] for field in SHARED.split()), "the points file contradicts the document")
    leaves = {x["wallet"]: x for x in lines}
    excluded = {some(x, "wallet reason")["wallet"] for x in exclusions}
    demand(not any(amount(leaves[w]["amount"]) for w in excluded & set(leaves)), "an excluded wallet has an amount")
    for wallet, number in points.items():
        leaf = leaves.get(wallet)
        demand(leaf or wallet in excluded, f"{wallet} has points, but no line in the leaves, and is not excluded")
        demand(not leaf or leaf["points"] == number, f"{wallet} has other points in the leaves")
    demand(set(leaves) <= set(points), "a wallet of the leaves is not in the points file")


def check_rules(shown, rules):
    """The published rules against the document."""
    some(rules, "version pool cap dust")
    integer(shown["rulesVersion"], 0, LIMIT)
    demand(rules["version"] == shown["rulesVersion"], "these are the rules of another version")
    demand(all(rules[field] == shown[field] for field in ("pool", "cap", "dust")), "the rules differ from the epoch")


def read_exclusions(house, epoch, allocation):
    """The exclusions of an allocation of an epoch, of all pages. `allocation` is None if the house does not number allocations."""
    found = []
    chosen = "" if allocation is None else f"&allocation={integer(allocation, 1, LIMIT)}"
    while True:
        url = f"{house}/api/rewards/epoch/{epoch}/exclusions?limit={PAGE}&offset={len(found)}{chosen}"
        status, data = chain.fetch(url)
        if status == 404:
            return []
        if status != 200:
            raise Unreachable(f"{url} answers {status}")
        page = read_json(data)
        demand(isinstance(page, list), "the exclusions are not a list")
        found += page
        if len(page) < PAGE:
            return found


def check(o, get, shown, lines):
    """The points file, the rules and the exclusions. Returns the length of the points file."""
    if shown["pointsHash"] is None:
        raise Unreachable("the house publishes no points file of this epoch")
    check_rules(shown, read_json(get(o.rules, f"/api/rewards/rules/{shown['rulesVersion']}")))
    if o.exclusions:
        exclusions = read_json(get(o.exclusions, ""))
    else:
        exclusions = read_exclusions(o.house.rstrip("/"), o.epoch, shown.get("allocation")) if o.house else []
    data = get(o.points, f"/api/rewards/epoch/{o.epoch}/points")
    check_file(shown, data, lines, exclusions)
    return len(data)


def read_memos(transaction, program, account):
    """The memos of epochs in a transaction, or None if it does not open the epoch."""
    message, meta = transaction["transaction"]["message"], transaction["meta"]
    loaded = meta.get("loadedAddresses") or {"writable": [], "readonly": []}
    keys = message["accountKeys"] + loaded["writable"] + loaded["readonly"]
    memos, opens = [], False
    for instruction in message["instructions"]:
        name, data = keys[instruction["programIdIndex"]], base58_decode(instruction["data"])
        accounts = [keys[i] for i in instruction["accounts"]]
        opens = opens or (name == program and data[:1] == b"\0" and len(accounts) > 3 and accounts[3] == account)
        if name in MEMOS and data.startswith(PREFIX):
            memos.append(data)
    return memos if opens and meta["err"] is None else None


def oldest(node, account):
    """The signatures of the 20 oldest transactions that name an account, unless there are more than 10,000."""
    found = []
    for _ in range(10):
        options = {"limit": 1000, "commitment": "finalized", **({"before": found[-1]} if found else {})}
        page = [x["signature"] for x in node.call("getSignaturesForAddress", account, options)]
        found += page
        if len(page) < 1000:
            return found[-20:][::-1]
    return []


def find_memos(node, shown, program, account):
    """The memos of the transaction that opened the epoch."""
    named = shown["commitSignature"]
    if named is not None:
        demand(isinstance(named, str) and len(base58_decode(named)) == 64, "commitSignature is not a signature")
    for signature in [named] if named else oldest(node, account):
        transaction = node.transaction(signature)
        memos = transaction and read_memos(transaction, program, account)
        demand(memos is not None or not transaction or not named, "commitSignature does not open the epoch")
        if memos is not None:
            return memos
    raise Unreachable("the transaction that opened the epoch is not found")


def check_memo(shown, memos, length):
    """The memos of epochs in the opening transaction. `length` is that of the points file, or None if it is not known."""
    is_import, digest = shown["source"] == "import", shown["pointsHash"]
    if not memos:
        demand(is_import or digest is None, "no memo holds the hash of the points file")
        if not is_import:
            raise Unreachable("neither the house nor a memo names a points file")
        return
    demand(is_import or digest is not None, "the memo names a points file that the house does not publish")
    expected = PREFIX + f"{shown['epoch']}:{'import' if is_import else f'points:{digest}:'}".encode()
    if not is_import:
        tail = memos[0][len(expected):]
        expected += tail if length is None and tail.isdigit() else str(length).encode()
    demand(memos == [expected], "the memo is another one")


def check_opening(node, shown, length, program, account):
    """The memo of the transaction that opened the epoch."""
    memos = find_memos(node, shown, base58_encode(program), base58_encode(account))
    check_memo(shown, memos, length)

