import { createHash } from 'node:crypto';
import { z } from 'zod';
import { WALLET_BYTES } from '#lib/merkle.ts';
import { decodeBase58 } from '#lib/scalars.ts';
import { describeIssue, validationError } from '#platform/http/validation-errors.ts';
import { MAX_AMOUNT } from '../rules.ts';
import { NEVER_WALLETS } from './never-wallets.ts';

/** Maximum rows of one import. */
const MAX_ROWS = 1_000_000;
const PAGE_ROWS = 16_384;
/** Maximum invalid rows that the error sentence names. */
const MAX_REPORTED = 10;
/** Number of invalid rows at which the reader stops parsing an upload. */
export const MAX_ERRORS = 1_000;
/** Maximum length of a line, characters. */
const MAX_LINE = 1_024;
const AMOUNT_BYTES = 8;
const ROW_BYTES = WALLET_BYTES + AMOUNT_BYTES;

const Root = z.string().regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits');

/** The header of an import. In NDJSON it is the first line. */
export const ImportHeader = z.strictObject({
  epoch: z
    .int()
    .min(0)
    .max(2 ** 31 - 1)
    .meta({ description: 'The epoch: UTC days since 1970-01-01. The day must have ended.', example: 20_777 }),
  overLimits: z.boolean().optional().meta({
    description:
      'Confirms that the total exceeds the pool, or that an amount exceeds the cap of the rules in force. Needs an admin token with the scope money; an internal token is refused.',
    example: false,
  }),
  root: Root.optional().meta({ description: 'Root that the caller computed, hex. The import is refused when the service computes another root.' }),
});
export type ImportHeader = z.output<typeof ImportHeader>;

/** The result of parsing a distribution. The distribution is valid when `errorCount` is 0. */
export interface Distribution {
  readonly header: ImportHeader | null;
  readonly rows: number;
  readonly total: bigint;
  /** The largest amount of a row. */
  readonly largest: bigint;
  /** SHA-256 over all rows in their order. Each row is hashed as its wallet (32 bytes) followed by its amount (u64 LE). */
  readonly hash: Uint8Array;
  readonly pages: number;
  /** One sentence for each of the first ten invalid rows. */
  readonly errors: readonly string[];
  readonly errorCount: number;
}

/** The addresses of one page of rows, comma-separated, and the amounts of these rows, comma-separated. */
export interface DistributionPage {
  readonly wallets: string;
  readonly amounts: string;
}

interface DistributionRow {
  readonly wallet: string;
  readonly key: Uint8Array;
  readonly amount: string;
  readonly units: bigint;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Parses one row. Returns an error sentence when the row is invalid. Does not use zod, because zod is too slow for a million rows. */
function readRow(value: unknown): DistributionRow | string {
  if (!isObject(value)) return 'must be an object with wallet and amount';
  const { wallet, amount, ...others } = value;
  const unknown = Object.keys(others)[0];
  if (unknown !== undefined) return `${unknown.slice(0, 32)} is not a known field`;
  const key = typeof wallet === 'string' && wallet.length <= 44 ? decodeBase58(wallet) : null;
  if (typeof wallet !== 'string' || key?.length !== WALLET_BYTES) return 'wallet must be a wallet address (base58 of 32 bytes)';
  if (typeof amount !== 'string' || !/^(?:0|[1-9]\d{0,19})$/.test(amount)) return 'amount must be a whole number of base units as text';
  if (NEVER_WALLETS.has(wallet)) return 'wallet must be able to claim, but it is a program or another fixed address of the chain';
  const units = BigInt(amount);
  if (units === 0n || units > MAX_AMOUNT) return `amount must be more than 0 and at most ${MAX_AMOUNT}`;
  return { wallet, key, amount, units };
}

/**
 * Parses a distribution: single rows, or an NDJSON stream whose first line is the header. Stores the valid rows as text, and an error sentence for
 * each of the first ten invalid rows. A million rows take about 400 MB of memory.
 */
export class DistributionReader {
  readonly #decoder = new TextDecoder();
  readonly #seen = new Map<string, number>();
  readonly #pages: DistributionPage[] = [];
  readonly #hash = createHash('sha256');
  readonly #packed = Buffer.alloc(PAGE_ROWS * ROW_BYTES);
  #wallets: string[] = [];
  #amounts: string[] = [];
  #header: ImportHeader | null = null;
  #total = 0n;
  #largest = 0n;
  #rows = 0;
  #line = 0;
  #rest = '';
  #isTooLong = false;
  readonly #offences: string[] = [];
  #offending = 0;
  readonly #placeOf: (row: number) => string;
  readonly #maxRows: number;

  /**
   * @param placeOf function that converts a row number to the name of the row in error sentences
   * @param maxRows highest number of rows that a distribution may have
   */
  constructor(placeOf = (row: number) => `line ${row}`, maxRows = MAX_ROWS) {
    this.#placeOf = placeOf;
    this.#maxRows = maxRows;
  }

  /**
   * Parses a chunk of NDJSON.
   * @returns false when the reader has stopped, because there are too many invalid rows or too many rows
   */
  push(bytes: Uint8Array): boolean {
    // The decoder replaces invalid UTF-8 with U+FFFD. A row with this character is refused as invalid.
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) if (!this.#takeLine(line)) return false;
    if (this.#rest.length > MAX_LINE) {
      this.#isTooLong = true;
      this.#rest = '';
    }
    return true;
  }

  /**
   * Checks one row and adds it to the pages, or records why the row is invalid.
   * @param number position of the row in the distribution, for error sentences
   */
  row(value: unknown, number: number): void {
    const row = readRow(value);
    const before = typeof row === 'string' ? undefined : this.#seen.get(row.wallet);
    if (typeof row === 'string') this.#offend(number, row);
    else if (before !== undefined) this.#offend(number, `wallet must be unique, but ${this.#placeOf(before)} has the same wallet`);
    else this.#take(row, number);
  }

  /** Parses the last line if the text does not end with a line break. Returns the result. */
  finish(): Distribution {
    this.#rest += this.#decoder.decode();
    if (this.#rest !== '' || this.#isTooLong) this.#takeLine(this.#rest);
    this.#rest = '';
    if (this.#wallets.length > 0) this.#turn();
    this.#seen.clear();
    return {
      header: this.#header,
      rows: this.#rows,
      total: this.#total,
      largest: this.#largest,
      hash: this.#hash.digest(),
      pages: this.#pages.length,
      errors: this.#offences,
      errorCount: this.#offending,
    };
  }

  /** Returns one page of the valid rows. The first page has the number 0. */
  page(number: number): DistributionPage {
    const page = this.#pages[number];
    if (!page) throw new Error(`page ${number} does not exist`);
    return page;
  }

  #take({ wallet, key, amount, units }: DistributionRow, number: number): void {
    const at = this.#wallets.length * ROW_BYTES;
    this.#seen.set(wallet, number);
    this.#packed.set(key, at);
    this.#packed.writeBigUInt64LE(units, at + WALLET_BYTES);
    this.#wallets.push(wallet);
    this.#amounts.push(amount);
    this.#total += units;
    if (units > this.#largest) this.#largest = units;
    this.#rows++;
    if (this.#wallets.length === PAGE_ROWS) this.#turn();
  }

  #takeLine(text: string): boolean {
    this.#line++;
    if (this.#isTooLong || text.length > MAX_LINE) {
      this.#isTooLong = false;
      this.#offend(this.#line, `must be at most ${MAX_LINE} characters long`);
      return true;
    }
    if (this.#offending >= MAX_ERRORS) return false;
    if (this.#rows >= this.#maxRows) {
      this.#offend(this.#line, `must not exist, because an import has at most ${this.#maxRows} rows`);
      return false;
    }
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      this.#offend(this.#line, 'must be JSON');
      return true;
    }
    if (this.#line > 1) this.row(value, this.#line);
    else this.#takeHeader(value);
    return true;
  }

  #takeHeader(value: unknown): void {
    const parsed = ImportHeader.safeParse(value, { error: describeIssue });
    if (parsed.success) this.#header = parsed.data;
    else this.#offend(this.#line, validationError('body', parsed.error).message);
  }

  #turn(): void {
    this.#hash.update(this.#packed.subarray(0, this.#wallets.length * ROW_BYTES));
    this.#pages.push({ wallets: this.#wallets.join(), amounts: this.#amounts.join() });
    this.#wallets = [];
    this.#amounts = [];
  }

  #offend(number: number, reason: string): void {
    this.#offending++;
    if (this.#offences.length < MAX_REPORTED) this.#offences.push(`${this.#placeOf(number)}: ${reason}`);
  }
}
