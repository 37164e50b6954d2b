"""Checks a drand signature (BLS12-381, signature on G1, key on G2) in plain Python.

Written from RFC 9380, the usual definition of the curve, and section 7 of docs/verification.md.
It is slow (half a second per signature) and not constant time: it only ever sees public data.
"""

import functools
import hashlib

P = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB
R = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
X = 0xD201000000010000  # the absolute value of the parameter of the curve
DST = b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"
G2_X = (
    0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
    0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E,
)
# The curve E' of RFC 9380, section 8.8.1, and the polynomial whose roots are the x of the kernel of its 11-isogeny
# (its square is x_den of appendix E.2). The isogeny follows from it.
ISO_A = 0x144698A3B8E9433D693A02C96D4982B0EA985383EE66A8D8E8981AEFD881AC98936F8DA0E0F97F5CF428082D584C1D
ISO_B = 0x12E2908D11688030018B12E8753EEE3B2016C1F0F24F4070A0B9C14FCEF35EF55A23215A316CEAA5D1CC48E98E172BE0
ISO_Z = 11
KERNEL = (
    0x133341FB0962A34CB0504A9C4FADA0A5090D38679B4C040D5D1C3AFB023A3409FCC0815FEA66D8B02BBEF9C8B5A66E07,
    0x0264908AF037BCEDE00D054CF5D4775E83EB6CF63C76B969F8ED174FB59FCFF78D201F46F6CFC4ED6552E59CE75177B0,
    0x1335C502C1F54C49ACEEA65E87FD7203BA0F626F305FC0CFD606A5DAE9F3C8E81A4B3B69600129FABD307C69BF319D39,
    0x094440F65F408A6E930E16E3E92DD17BF60D6E9679A8D3D58593DE55AC23703042D609537EB3549AAC234D896CA82944,
    0x04AFE09D5CF4956A23B6B71F59D2B3407B415A774B7BE81BBB6FA99CBC798E0AC98BA725A5BC328016B1C268B4766E85,
    1,
)


class Fp2:
    """A number a + b·u with u² = −1. Numbers of the base field have b = 0."""

    __slots__ = ("a", "b")

    def __init__(self, a, b=0):
        self.a, self.b = a % P, b % P

    def __eq__(self, o):
        return self.a == o.a and self.b == o.b

    def __add__(self, o):
        return Fp2(self.a + o.a, self.b + o.b)

    def __sub__(self, o):
        return Fp2(self.a - o.a, self.b - o.b)

    def __neg__(self):
        return Fp2(-self.a, -self.b)

    def __mul__(self, o):
        if isinstance(o, int):
            return Fp2(self.a * o, self.b * o)
        return Fp2(self.a * o.a - self.b * o.b, self.a * o.b + self.b * o.a)

    def inverse(self):
        """The inverse of a number that is not 0."""
        n = pow(self.a * self.a + self.b * self.b, -1, P)
        return Fp2(self.a * n, -self.b * n)

    def power(self, n):
        """The n-th power."""
        result, base = Fp2(1), self
        while n:
            if n & 1:
                result = result * base
            base, n = base * base, n >> 1
        return result

    def root(self):
        """A square root, or None. P is 3 modulo 4, so this is the method of Adj and Rodríguez-Henríquez."""
        a1 = self.power((P - 3) // 4)
        x0 = a1 * self
        alpha = a1 * x0
        if alpha == Fp2(-1):
            x0 = x0 * Fp2(0, 1)
        else:
            x0 = x0 * (alpha + Fp2(1)).power((P - 1) // 2)
        return x0 if x0 * x0 == self else None

    def is_greater_half(self):
        """Whether the number is greater than its negative: u's part decides, and the other one if that is 0."""
        return (self.b or self.a) > (P - 1) // 2


XI = Fp2(1, 1)
B1, B2 = Fp2(4), Fp2(4, 4)


def add(p, q):
    """The sum of two points on y² = x³ + b. A point is (x, y), or None at infinity."""
    if p is None or q is None:
        return p or q
    (x1, y1), (x2, y2) = p, q
    if x1 == x2:
        if y1 != y2 or y1 == Fp2(0):
            return None
        slope = x1 * x1 * 3 * (y1 * 2).inverse()
    else:
        slope = (y2 - y1) * (x2 - x1).inverse()
    x = slope * slope - x1 - x2
    return x, slope * (x1 - x) - y1


def multiply(p, n):
    """n times the point p."""
    result = None
    for bit in bin(n)[2:]:
        result = add(result, result)
        if bit == "1":
            result = add(result, p)
    return result


def decode(data, in_g2):
    """The point of a compressed encoding (48 bytes in G1, 96 in G2), or None if it is not a canonical one, not on the
    curve, not in the subgroup of prime order, or at infinity."""
    if len(data) != (96 if in_g2 else 48) or not data[0] & 0x80 or data[0] & 0x40:
        return None
    parts = [int.from_bytes(data[i : i + 48], "big") for i in range(0, len(data), 48)]
    parts[0] &= (1 << 381) - 1
    if max(parts) >= P:
        return None
    x = Fp2(parts[1], parts[0]) if in_g2 else Fp2(parts[0])
    y = (x * x * x + (B2 if in_g2 else B1)).root()
    if y is None or (not in_g2 and y.b != 0):
        return None
    if y.is_greater_half() != bool(data[0] & 0x20):
        y = -y
    return (x, y) if multiply((x, y), R) is None else None


def expand(message, length):
    """expand_message_xmd of RFC 9380 with SHA-256."""
    dst = DST + bytes([len(DST)])
    b0 = hashlib.sha256(bytes(64) + message + length.to_bytes(2, "big") + b"\0" + dst).digest()
    block, out = bytes(32), b""
    for i in range(1, (length + 31) // 32 + 1):
        block = hashlib.sha256(bytes(s ^ t for s, t in zip(b0, block)) + bytes([i]) + dst).digest()
        out += block
    return out[:length]


def map_to_curve(u):
    """The simplified SWU map to E', then the isogeny to the curve."""
    a, b, t = ISO_A, ISO_B, ISO_Z * u * u % P
    d = (t * t + t) % P
    x = -b * pow(a, -1, P) * (1 + pow(d, -1, P)) % P if d else b * pow(ISO_Z * a, -1, P) % P
    square = (x**3 + a * x + b) % P
    y = pow(square, (P + 1) // 4, P)
    if y * y % P != square:
        x = t * x % P
        y = pow(x**3 + a * x + b, (P + 1) // 4, P)
    if y & 1 != u & 1:
        y = -y
    return isogeny(x, y % P)


def isogeny(x, y):
    """The 11-isogeny of RFC 9380, E.2, by the formula of Kohel. With h = KERNEL, f = x³ + ax + b and L = h'/h, the new
    x is (11x − Σ − 2f'L − 4fL') / 121, where Σ is the sum of x over the points of the kernel; the new y is y times the
    derivative of the parenthesis, over 1331."""
    k = list(KERNEL)
    h = []  # the values of h and of its first three derivatives
    for _ in range(4):
        h.append(sum(c * pow(x, i, P) for i, c in enumerate(k)) % P)
        k = [i * c for i, c in enumerate(k)][1:]
    if h[0] == 0:
        return None
    n = pow(h[0], -1, P)
    l0, q2, q3 = h[1] * n % P, h[2] * n % P, h[3] * n % P
    l1 = (q2 - l0 * l0) % P
    l2 = (q3 - q2 * l0 - 2 * l0 * l1) % P
    f, f1, f2 = x**3 + ISO_A * x + ISO_B, 3 * x * x + ISO_A, 6 * x
    total = -2 * KERNEL[4]
    new_x = 11 * x - total - 2 * f1 * l0 - 4 * f * l1
    slope = 11 - 2 * f2 * l0 - 2 * f1 * l1 - 4 * f1 * l1 - 4 * f * l2
    return Fp2(new_x * pow(121, -1, P)), Fp2(y * slope * pow(1331, -1, P))


def hash_to_curve(message):
    """hash_to_curve of the suite BLS12381G1_XMD:SHA-256_SSWU_RO_."""
    data = expand(message, 128)
    points = [map_to_curve(int.from_bytes(data[i : i + 64], "big") % P) for i in (0, 64)]
    return multiply(add(*points), X + 1)


def times(f, g):
    """The product of two numbers of Fp12, each a dict from the power of w (0 to 5, w⁶ = 1 + u) to Fp2."""
    out = {}
    for i, a in f.items():
        for j, b in g.items():
            c = a * b
            if i + j > 5:
                c = c * XI
            k = (i + j) % 6
            out[k] = out[k] + c if k in out else c
    return out


def miller(p, q):
    """The Miller loop of the ate pairing for p in G1 and q in G2 (on the twist y² = x³ + 4(1 + u))."""
    f, t = {0: Fp2(1)}, q

    def line(t, s):
        """The line through t and s at the point p, up to a factor that the final power removes."""
        slope = t[0] * t[0] * 3 * (t[1] * 2).inverse() if t == s else (s[1] - t[1]) * (s[0] - t[0]).inverse()
        return {0: slope * t[0] - t[1], 2: -(slope * p[0]), 3: p[1]}

    for bit in bin(X)[3:]:
        f, t = times(times(f, f), line(t, t)), add(t, t)
        if bit == "1":
            f, t = times(f, line(t, q)), add(t, q)
    return f


def is_one_after_final_power(f):
    """Whether f to the power (P¹² − 1) / R is 1."""
    result = {0: Fp2(1)}
    for bit in bin((P**12 - 1) // R)[2:]:
        result = times(result, result)
        if bit == "1":
            result = times(result, f)
    return all(v == Fp2(1 if k == 0 else 0) for k, v in result.items())


def generator():
    """The generator of G2: its y is the root whose part with u is the lesser one."""
    x = Fp2(*G2_X)
    y = (x * x * x + B2).root()
    return x, (-y if y.is_greater_half() else y)


@functools.lru_cache
def is_valid(public_key, message, signature):
    """Whether the signature (48 bytes) of the message is valid under the key (96 bytes)."""
    key, point = decode(public_key, True), decode(signature, False)
    if key is None or point is None:
        return False
    negative = (point[0], -point[1])
    return is_one_after_final_power(times(miller(negative, generator()), miller(hash_to_curve(message), key)))
