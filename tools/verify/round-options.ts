import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { Hash, RoundId } from '#lib/draw/bytes.ts';
import { decodeBase58 } from '#lib/scalars.ts';
import type { VerifyOptions } from '#packages/verify/src/index.ts';

const USAGE = 'usage: bin/verify-round URL ID [OPTION…]; the head of the file bin/verify-round describes the options';
const PUBLIC_NODE = 'https://api.mainnet-beta.solana.com';

/** Thrown when a command line is wrong or a named file cannot be used. */
export class CommandLineError extends Error {}

const text = { type: 'string' } as const;
const list = { type: 'string', multiple: true } as const;
const flag = { type: 'boolean' } as const;
const OPTIONS = {
  ...{ rpc: text, receipt: list, announcement: text, closing: list, entries: text },
  ...{ draws: text, treasury: text, beacon: text, program: text, genesis: text },
  ...{ 'beacon-url': list, development: flag },
};

const isKey = (value: string) => decodeBase58(value)?.length === 32;
const isHash = (value: string) => Hash.safeParse(value).success;
/** For each option with a value of a certain form: whether a text has it, and the words that name it. */
const FORMS = [
  { names: ['rpc', 'beacon-url'], isValid: URL.canParse, form: 'a URL' },
  { names: ['draws', 'treasury', 'genesis'], isValid: isKey, form: '32 bytes in base58' },
  { names: ['beacon', 'program'], isValid: isHash, form: 'a hash of 64 lower-case hexadecimal digits' },
] as const;

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS });
  } catch (error) {
    throw new CommandLineError(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
  }
}

/**
 * Parses the command line of `bin/verify-round` and reads the files that it names.
 * @throws CommandLineError when an option is unknown, a value is invalid or a file cannot be read
 */
export async function parseRoundOptions(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Promise<VerifyOptions> {
  const { values, positionals } = parse(args);
  const [house = '', round = ''] = positionals;
  if (positionals.length !== 2 || !URL.canParse(house) || !RoundId.safeParse(round).success) throw new CommandLineError(USAGE);
  for (const { names, isValid, form } of FORMS)
    for (const name of names)
      for (const value of [values[name] ?? []].flat()) if (!isValid(value)) throw new CommandLineError(`--${name} must be ${form}\n${USAGE}`);
  const { rpc = env.SOLANA_RPC_URL ?? PUBLIC_NODE, draws, treasury, beacon, program, genesis: genesisHash } = values;
  const { receipt = [], announcement, closing = [], entries, development } = values;
  const receipts = await Promise.all(receipt.map((file) => readStatements(file, 'coinop/receipt/1')));
  const closings = await Promise.all(closing.map((file) => readStatements(file, 'coinop/closed/1')));
  return {
    ...{ house, round, rpc, development, beacon: values['beacon-url'] },
    pins: { draws, treasury, beacon, program, genesisHash },
    receipts: receipts.flat(),
    announcement: announcement === undefined ? undefined : await readStatement(announcement, 'coinop/announcement/1'),
    closed: closings.flat(),
    entries: entries === undefined ? undefined : await readText(entries),
  };
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new CommandLineError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Reads all signed statements of a type from a file: JSON or NDJSON, at any depth. */
async function readStatements(file: string, type: string): Promise<unknown[]> {
  const content = await readText(file);
  const found = parseDocuments(file, content).flatMap((document) => [...statementsIn(document, type)]);
  if (found.length === 0) throw new CommandLineError(`${file} contains no statement of type ${type}`);
  return found;
}

async function readStatement(file: string, type: string): Promise<unknown> {
  const found = await readStatements(file, type);
  if (found.length > 1) throw new CommandLineError(`${file} contains ${found.length} statements of type ${type}; it must contain one`);
  return found[0];
}

/** Parses a file that is one JSON document or has one per line. */
function parseDocuments(file: string, content: string): unknown[] {
  try {
    return [JSON.parse(content)];
  } catch {
    const lines = content.split('\n').filter((line) => line.trim() !== '');
    try {
      return lines.map((line): unknown => JSON.parse(line));
    } catch {
      throw new CommandLineError(`${file} is neither JSON nor NDJSON`);
    }
  }
}

/** Yields the signed statements of a type in a JSON value. The verification checks their form, so only the type is compared here. */
function* statementsIn(value: unknown, type: string): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return;
  const { statement }: { statement?: unknown } = value;
  if (typeof statement === 'object' && statement !== null && 'type' in statement && statement.type === type) yield value;
  else for (const member of Object.values(value)) yield* statementsIn(member, type);
}
