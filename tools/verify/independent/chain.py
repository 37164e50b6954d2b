"""The Solana node and the accounts of the program: section 5 of docs/verification.md."""

import base64
import http.client
import json
import struct
import time
import urllib.error
import urllib.request

from encoding import Invalid, base58_encode, key32, program_address, read_json, sha256

LOADER = key32("BPFLoader2111111111111111111111111111111111")
OLD_LOADER = key32("BPFLoader1111111111111111111111111111111111")
UPGRADEABLE = key32("BPFLoaderUpgradeab1e11111111111111111111111")
KNOWN_PROGRAM = "3de53f9a2dbd95c5385f04738d97712d86e160c7680429a9335dcc5414e66f74"
WAIT = 20  # seconds


class Unreachable(Exception):
    """Somebody does not answer, so that something cannot be checked."""


def fetch(url, body=None, limit=256 * 1024 * 1024):
    """The status and the bytes of an answer. Raises Unreachable where there is none; 408, 429, 3xx and 5xx
    count as none."""
    request = urllib.request.Request(url, body, {"content-type": "application/json", "user-agent": "coinop-verify-py"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            data = response.read(limit + 1)
            data.decode()
            if response.status != 200:
                raise Unreachable(f"{url} answers {response.status}")
            if len(data) > limit:
                raise Unreachable(f"{url} answers with too much")
            return response.status, data
    except urllib.error.HTTPError as error:
        if 400 <= error.code < 500 and error.code not in (408, 429):
            return error.code, b""
        raise Unreachable(f"{url} answers {error.code}") from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Unreachable(f"{url} does not answer: {error}") from None


def get_json(url):
    """The JSON document at an address, or None."""
    try:
        status, data = fetch(url)
        return read_json(data) if status == 200 else None
    except (Unreachable, Invalid):
        return None


class Node:
    """A Solana node, at commitment `finalized`."""

    def __init__(self, url):
        self.url = url

    def call(self, method, *params):
        """The result of a method. Raises Unreachable with the error's code where there is none."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        status, data = fetch(self.url, body)
        answer = None
        try:
            answer = json.loads(data)
            return answer["result"]
        except (ValueError, KeyError, TypeError):
            error = answer.get("error") if isinstance(answer, dict) else status
            failure = Unreachable(f"the node answers {method} with {error}")
            failure.code = error.get("code") if isinstance(error, dict) else None
            raise failure from None

    def genesis_hash(self):
        """The genesis hash of the cluster."""
        return self.call("getGenesisHash")

    def account(self, address):
        """An account as (owner, data), or None."""
        options = {"encoding": "base64", "commitment": "finalized"}
        value = self.call("getMultipleAccounts", [base58_encode(address)], options)["value"][0]
        return value and (key32(value["owner"]), base64.b64decode(value["data"][0]))

    def block(self, slot):
        """The block of a slot as (blockhash, time), or None if the slot was skipped. Raises Unreachable if the node
        does not have it."""
        options = {"commitment": "finalized", "transactionDetails": "none", "rewards": False,
                   "maxSupportedTransactionVersion": 1}
        try:
            value = self.call("getBlock", slot, options)
        except Unreachable as error:
            if getattr(error, "code", None) in (-32007, -32009):
                return None
            raise
        if value and type(value["blockTime"]) is not int:
            raise Unreachable(f"the node does not know the time of block {slot}")
        return value and (value["blockhash"], value["blockTime"])

    def block_from(self, slot):
        """The first block from this slot on, within 64 slots, as (slot, block time)."""
        for number in range(slot, slot + 64):
            block = self.block(number)
            if block:
                return number, block[1]
        raise Unreachable(f"the node has no blocks from slot {slot} on")

    def transaction(self, signature):
        """A transaction, or None."""
        options = {"commitment": "finalized", "encoding": "json", "maxSupportedTransactionVersion": 1}
        return self.call("getTransaction", signature, options)

    def slot(self):
        """The last finalized slot."""
        return self.call("getSlot", {"commitment": "finalized"})

    def first_slot(self):
        """The first slot whose block the node still has."""
        return self.call("getFirstAvailableBlock")

    def certain(self, read, began):
        """What `read` returns. Before None counts as missing on the chain: waits, reads again, and demands that the
        node's last finalized block is at most 60 s older than the begin of the verification."""
        value = read()
        if value is not None:
            return value
        time.sleep(WAIT)
        value = read()
        if value is None:
            last = self.slot()
            block = self.block(last)
            if not block or block[1] is None or block[1] < began - 60:
                raise Unreachable("the node is behind")
        return value


def read_draws(data):
    """The content of a draws account, or None if these are not the bytes of one."""
    if len(data) != 160 or data[:9] != b"CoinopDr\x01" or data[9] > 1 or data[11]:
        return None
    period, genesis, margin, window = struct.unpack_from("<IqII", data, 12)
    return {"bump": data[10], "isDevelopment": data[9] == 1, "margin": margin, "window": window, "period": period,
            "genesis": genesis, "founder": data[32:64], "committer": data[64:96], "chainHash": data[96:128],
            "receiptKey": data[128:]}


def read_commitment(data):
    """The content of a commitment account, or None if these are not the bytes of one."""
    if len(data) != 120 or data[:9] != b"CoinopCm\x01" or any(data[10:16]):
        return None
    beacon_round, slot, moment = struct.unpack_from("<QQq", data, 32)
    return {"bump": data[9], "round": data[16:32], "beaconRound": beacon_round, "slot": slot, "time": moment,
            "leaf": data[56:88], "draws": data[88:]}


def code_hash(code):
    """The hash of a program: of its code without the zero bytes at its end."""
    return sha256(code.rstrip(b"\0"))


def read_program(node, program):
    """The hash of a program's code, whether it has an upgrade authority, and the slot of its deployment (0 where it
    can never be changed)."""
    account = node.account(program)
    if not account:
        raise Unreachable("the program does not exist")
    owner, data = account
    if owner in (LOADER, OLD_LOADER):
        return code_hash(data), False, 0
    address, _ = program_address([program], UPGRADEABLE)
    if owner != UPGRADEABLE or data != b"\2\0\0\0" + address:
        raise Unreachable("the program belongs to an unknown loader")
    account = node.account(address)
    if not account or account[0] != UPGRADEABLE or len(account[1]) < 45 or account[1][:4] != b"\3\0\0\0":
        raise Unreachable("the program has no code")
    data = account[1]
    return code_hash(data[45:]), data[12] != 0, struct.unpack_from("<Q", data, 4)[0]
