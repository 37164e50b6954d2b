import { createHash } from 'node:crypto';

/** Hexadecimal digits of a SHA-256 that the checksum of a row uses: 60 bits, which PostgreSQL can hold in a bigint. */
const DIGITS = 15;

/**
 * Returns SQL that selects rows as lines of JSON, in the column `line`. The session must have the time zone UTC, so that equal rows have equal lines.
 * @param columns the columns in the order of the keys
 * @param rows the SQL after `from`
 */
export const rowLines = (columns: readonly string[], rows: string): string =>
  `select row_to_json(r)::text as line from (select ${columns.map((column) => `"${column}"`).join(', ')} from ${rows}) r`;

/** Returns the SQL for the checksum of a line: the first 60 bits of its SHA-256. @param line an SQL expression */
export const lineChecksum = (line: string): string =>
  `('x' || left(encode(sha256(convert_to(${line}, 'UTF8')), 'hex'), ${DIGITS}))::bit(60)::bigint::numeric`;

/** Returns the checksum of a line as PostgreSQL computes it. */
export const checksumOfLine = (line: string): bigint => BigInt(`0x${createHash('sha256').update(line).digest('hex').slice(0, DIGITS)}`);
