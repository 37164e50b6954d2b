"""Notation of docs/verification.md, section 1, strict reading of documents, ed25519, and program addresses."""

import datetime
import hashlib
import json
import re

U64 = 2**64 - 1
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
Q = 2**255 - 19  # the field of ed25519
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, Q) % Q


class Invalid(Exception):
    """A document that breaks the protocol."""


class NotJson(Invalid):
    """A document that is not JSON at all."""


def demand(condition, text):
    """Raises Invalid with this text unless the condition holds."""
    if not condition:
        raise Invalid(text)


def sha256(*parts):
    """SHA-256 of the concatenation."""
    return hashlib.sha256(b"".join(parts)).digest()


def le(number, size):
    """A number as so many bytes, little-endian."""
    return number.to_bytes(size, "little", signed=number < 0)


def lp(data):
    """The length as u32, then the data."""
    data = data.encode() if isinstance(data, str) else data
    return le(len(data), 4) + data


def read_json(text):
    """Parses JSON as ECMAScript does, and refuses lone surrogates. Integers below 2⁵³ are int, other numbers float, which
    no field of the protocol accepts."""

    def refuse(text):
        raise NotJson(f"{text} is not JSON")

    def number(text):
        value = float(text)
        return int(value) if value.is_integer() and abs(value) < 2**53 else value

    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        value = json.loads(text, parse_float=number, parse_constant=refuse, parse_int=number)
    except (ValueError, RecursionError) as error:
        raise NotJson(f"not JSON: {error}") from None
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError:
        raise Invalid("a text is not well-formed") from None
    return value


def jcs(value):
    """Canonical JSON (RFC 8785) of a value without fractions, as text."""
    if isinstance(value, dict):
        items = sorted(value.items(), key=lambda item: item[0].encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(jcs(k) + ":" + jcs(v) for k, v in items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(jcs, value)) + "]"
    if isinstance(value, str):
        # Python leaves U+007F alone as well, and writes \b \t \n \f \r and \u00xx as ECMAScript does.
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value)


def base58_decode(text):
    """The bytes of a base58 text."""
    number = 0
    for c in text:
        demand(c in ALPHABET, "not base58")
        number = number * 58 + ALPHABET.index(c)
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def base58_encode(data):
    """Bytes as base58."""
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


# Each of the following takes a value of a document, raises Invalid if it is not of the kind, and returns its content.


def key32(value):
    """An address, mint, blockhash or genesis hash: 32 bytes."""
    demand(isinstance(value, str) and 32 <= len(value) <= 44, f"{value!r} is not an address")
    data = base58_decode(value)
    demand(len(data) == 32, f"{value!r} is not an address")
    return data


def uuid(value):
    """A UUID in lower case: 16 bytes."""
    form = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    demand(isinstance(value, str) and re.fullmatch(form, value), f"{value!r} is not a UUID in lower case")
    return bytes.fromhex(value.replace("-", ""))


def hex_bytes(value, size=32):
    """So many bytes in lower-case hex."""
    demand(isinstance(value, str) and re.fullmatch(f"[0-9a-f]{{{2 * size}}}", value), f"{value!r} is not hex")
    return bytes.fromhex(value)


def instant(value):
    """An instant: milliseconds since 1970."""
    form = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z"
    demand(isinstance(value, str) and re.fullmatch(form, value), f"{value!r} is not an instant")
    try:
        since = datetime.datetime.fromisoformat(value[:-1]) - datetime.datetime(1970, 1, 1)
    except ValueError:
        raise Invalid(f"{value!r} is not an instant") from None
    demand(since.days >= 0, f"{value!r} is before 1970")
    return since // datetime.timedelta(milliseconds=1)


def show_instant(milliseconds):
    """Milliseconds since 1970 as an instant."""
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds") + "Z"


def amount(value):
    """An amount: a number of base units."""
    demand(isinstance(value, str) and re.fullmatch("0|[1-9][0-9]{0,19}", value), f"{value!r} is not an amount")
    demand(int(value) <= U64, f"{value} is above 2^64 - 1")
    return int(value)


def integer(value, low, high):
    """An integer within limits."""
    demand(type(value) is int and low <= value <= high, f"{value!r} is not an integer from {low} to {high}")
    return value


def name(value):
    """The name of a network or of a source."""
    demand(isinstance(value, str) and re.fullmatch("[a-z0-9-]{1,32}", value), f"{value!r} is not a name")
    return value


def fields(value, names):
    """An object with exactly these fields."""
    demand(isinstance(value, dict), "not an object")
    names = names.split() if isinstance(names, str) else names
    difference = set(value) ^ set(names)
    demand(not difference, f"missing or additional fields: {', '.join(sorted(difference))}")
    return value


# ed25519, and program addresses


def curve_point(data):
    """The point (x, y) of 32 bytes, or None. Only canonical encodings."""
    number = int.from_bytes(data, "little")
    y, sign = number & (2**255 - 1), number >> 255
    if y >= Q:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, Q) % Q
    x = pow(square, (Q + 3) // 8, Q)
    if (x * x - square) % Q:
        x = x * pow(2, (Q - 1) // 4, Q) % Q
    if (x * x - square) % Q or (x == 0 and sign):
        return None
    return (Q - x if x & 1 != sign else x), y


def curve_add(p, q):
    """The sum of two points in extended coordinates (x, y, z, t)."""
    a, b = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0])
    c, d = 2 * D * p[3] * q[3], 2 * p[2] * q[2]
    e, f, g, h = (b - a) % Q, (d - c) % Q, (d + c) % Q, (b + a) % Q
    return e * f % Q, g * h % Q, f * g % Q, e * h % Q


def curve_multiply(point, n):
    """n times a point (x, y), in extended coordinates."""
    step, result = (*point, 1, point[0] * point[1] % Q), (0, 1, 1, 0)
    while n:
        if n & 1:
            result = curve_add(result, step)
        step, n = curve_add(step, step), n >> 1
    return result


def is_signed(key, message, signature):
    """Whether an ed25519 signature is valid (RFC 8032 with the cofactor; only canonical encodings, no key of small
    order)."""
    public, r, s = curve_point(key), curve_point(signature[:32]), int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or public is None or r is None or s >= ORDER:
        return False
    base = curve_point(le(4 * pow(5, -1, Q) % Q, 32))
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    if is_neutral(curve_multiply(public, 8)):
        return False
    minus = (Q - public[0]) % Q, public[1]
    minus_r = (Q - r[0]) % Q, r[1]
    difference = curve_add(curve_multiply(base, s), curve_multiply(minus, k))
    difference = curve_add(difference, (*minus_r, 1, minus_r[0] * minus_r[1] % Q))
    for _ in range(3):
        difference = curve_add(difference, difference)
    return is_neutral(difference)


def is_neutral(point):
    """Whether a point in extended coordinates is the neutral one."""
    return point[0] % Q == 0 and (point[1] - point[2]) % Q == 0


def is_on_curve(data):
    """Whether 32 bytes are a point, as Solana sees it when it derives addresses (y is taken modulo the field)."""
    y = (int.from_bytes(data, "little") & (2**255 - 1)) % Q
    square = (y * y - 1) * pow(D * y * y + 1, -1, Q) % Q
    return square == 0 or pow(square, (Q - 1) // 2, Q) == 1


def program_address(seeds, program):
    """The program address of the seeds, and its bump."""
    for bump in range(255, -1, -1):
        address = sha256(*seeds, bytes([bump]), program, b"ProgramDerivedAddress")
        if not is_on_curve(address):
            return address, bump
    raise Invalid("no program address")
