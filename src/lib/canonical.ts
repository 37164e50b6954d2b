/**
 * Returns canonical JSON (RFC 8785): no white space, keys sorted by UTF-16 code units, numbers and strings as ECMAScript writes them. Equal values
 * have equal text, so the text can be hashed.
 * @throws TypeError for values that JSON cannot represent: non-finite numbers, lone surrogates, and values that are not plain data
 */
export function canonicalize(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw new TypeError('a lone surrogate has no canonical form');
    return JSON.stringify(value);
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`${value} has no canonical form`);
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map(canonicalize).join(',')}]`;
  if (typeof value !== 'object') throw new TypeError(`${typeof value} has no canonical form`);
  // The operator < compares strings by UTF-16 code units.
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, member]) => `${canonicalize(key)}:${canonicalize(member)}`).join(',')}}`;
}
