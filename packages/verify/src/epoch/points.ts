import { sha256 } from '@noble/hashes/sha2.js';
import { z } from 'zod';
import { toHex } from '../../../../src/lib/draw/bytes.ts';
import { Lie, Unknown } from '../report.ts';
import { Amount, type Epoch, type Fetch, get, json, type Line, Points, read } from './published.ts';

/** The results of the checks of the points file. */
export interface PointsFindings {
  readonly lines: readonly string[];
  /** The values that were taken on the service’s word. */
  readonly words: readonly string[];
  /** Length of the points file, bytes. */
  readonly bytes: number;
}

const Header = z.object({
  type: z.literal('coinop/points/1'),
  epoch: z.number().int(),
  formulaVersion: z.number().int(),
  rulesVersion: z.number().int(),
  pool: Amount,
  cap: Amount.nullable(),
  dust: Amount,
  wallets: z.number().int(),
  points: Points,
});
const Rules = z.object({ version: z.number().int(), pool: Amount, cap: Amount.nullable(), dust: Amount });
const Exclusions = z.array(z.object({ wallet: z.string(), reason: z.string() }));
type Exclusion = z.output<typeof Exclusions>[number];
type Header = z.output<typeof Header>;

/** Exclusions per request, and the maximum number of requests. */
const EXCLUSIONS_PER_PAGE = 500;
const MAX_PAGES = 2_000;

type Digest = ReturnType<typeof sha256.create>;

function assertEqual(name: string, shown: unknown, found: unknown): void {
  if (shown !== found) throw new Lie('points', `${name} is ${shown}, but should be ${found}`);
}

/** Yields the lines of a response, and adds its bytes to `digest`. Returns the number of bytes. */
async function* linesOf({ body }: Response, digest: Digest): AsyncGenerator<string, number> {
  const decoder = new TextDecoder();
  let [rest, bytes] = ['', 0];
  const reader = body?.getReader();
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) break;
      digest.update(value);
      bytes += value.length;
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  } catch (error) {
    throw new Unknown('points', `the points file cannot be read to its end: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (rest !== '') yield rest;
  return bytes;
}

/** Returns the points of a wallet. @throws Lie when the sum over the sources differs from the points */
function parsePoints(name: string, text: string): { wallet: string; points: number } {
  const { wallet, points, sources } = Object(json(name, text));
  const isLine = typeof wallet === 'string' && Number.isSafeInteger(points) && typeof sources === 'object' && sources !== null;
  const values: readonly unknown[] = isLine ? Object.values(sources) : [];
  let sum = 0;
  for (const value of values) sum += typeof value === 'number' && Number.isSafeInteger(value) ? value : Number.NaN;
  if (!isLine || Number.isNaN(sum)) throw new Lie('points', `${name} is not valid: ${text.slice(0, 200)}`);
  if (sum !== points) throw new Lie('points', `${name}: the sources of ${wallet} have the sum ${sum}, but its points are ${points}`);
  return { wallet, points };
}

/** Compares the first line of the points file with the epoch. */
function checkHeader(epoch: Epoch, header: Header): void {
  for (const field of ['epoch', 'formulaVersion', 'rulesVersion', 'pool', 'cap', 'dust'] as const)
    assertEqual(`${field} in the first line of the points file`, header[field], epoch[field]);
}

/** Compares the wallets of the points file with the leaves. A wallet without a line in the leaves must be excluded, and an excluded one has no leaf. */
class Comparison {
  readonly #leaves: Map<string, Line>;
  readonly #excluded: Set<string>;
  #last = '';
  wallets = 0;
  points = 0n;

  constructor(lines: readonly Line[], exclusions: readonly Exclusion[]) {
    this.#leaves = new Map(lines.map((line) => [line.wallet, line]));
    this.#excluded = new Set(exclusions.map(({ wallet }) => wallet));
    for (const wallet of this.#excluded)
      if ((this.#leaves.get(wallet)?.amount ?? 0n) > 0n) throw new Lie('points', `wallet ${wallet} is excluded, but has a leaf`);
  }

  add(name: string, text: string): void {
    const { wallet, points } = parsePoints(name, text);
    if (wallet <= this.#last) throw new Lie('points', `${name}: the wallets are not in ascending order`);
    this.#last = wallet;
    this.wallets++;
    this.points += BigInt(points);
    const leaf = this.#leaves.get(wallet);
    if (leaf !== undefined) assertEqual(`the points of ${wallet} in the leaves`, leaf.points, BigInt(points));
    else if (!this.#excluded.has(wallet))
      throw new Lie('points', `wallet ${wallet} has ${points} points, but it has no line in the leaves and is not excluded`);
    this.#leaves.delete(wallet);
  }

  finish(header: Header): void {
    assertEqual('the number of wallets in the first line of the points file', header.wallets, this.wallets);
    assertEqual('points in the first line of the points file', header.points, this.points);
    for (const [wallet] of this.#leaves) throw new Lie('points', `wallet ${wallet} is in the leaves, but not in the points file`);
  }
}

/** Reads the exclusions of an epoch's allocation in force: pages of a JSON list. Status 404 means that there are none. */
async function readExclusions(fetch: Fetch, url: string, { allocation }: Epoch): Promise<Exclusion[]> {
  const all: Exclusion[] = [];
  const chosen = allocation ? `&allocation=${allocation}` : '';
  for (let page = 0; page < MAX_PAGES; page++) {
    const response = await get(fetch, `${url}/exclusions?limit=${EXCLUSIONS_PER_PAGE}&offset=${page * EXCLUSIONS_PER_PAGE}${chosen}`, {
      allowMissing: true,
    });
    if (response.status === 404) return [];
    const found = read('the exclusions', Exclusions, json('the exclusions', await response.text()));
    all.push(...found);
    if (found.length < EXCLUSIONS_PER_PAGE) return all;
  }
  throw new Unknown('points', `the service lists more than ${MAX_PAGES * EXCLUSIONS_PER_PAGE} exclusions`);
}

/** Compares the rules of the epoch with the published version of the reward rules. */
async function checkRules(fetch: Fetch, base: string, epoch: Epoch): Promise<void> {
  const { rulesVersion } = epoch;
  const name = `version ${rulesVersion} of the rules`;
  const rules = read(name, Rules, json(name, await (await get(fetch, new URL(`/api/rewards/rules/${rulesVersion}`, base).href)).text()));
  assertEqual('the version of the published rules', rules.version, rulesVersion);
  for (const field of ['pool', 'cap', 'dust'] as const) assertEqual(`${field} of the epoch`, epoch[field], rules[field]);
}

/**
 * Checks the points file of a computed epoch: its hash, its sums, and that the leaves have its points. Reads the file as a stream.
 * @param lines the lines of the leaves
 * @throws Lie when a value differs; Unknown when the service does not publish the file
 */
export async function checkPoints(fetch: Fetch, base: string, epoch: Epoch, lines: readonly Line[]): Promise<PointsFindings> {
  if (epoch.pointsHash === null) throw new Unknown('points', 'the service publishes no points file of this epoch');
  const url = new URL(`/api/rewards/epoch/${epoch.epoch}`, base).href;
  await checkRules(fetch, base, epoch);
  const exclusions = await readExclusions(fetch, url, epoch);
  const digest = sha256.create();
  const texts = linesOf(await get(fetch, `${url}/points`), digest);
  const first = await texts.next();
  const header = read('the first line of the points file', Header, json('the first line of the points file', String(first.value)));
  checkHeader(epoch, header);
  const comparison = new Comparison(lines, exclusions);
  let next = await texts.next();
  for (let number = 2; next.done !== true; number++, next = await texts.next()) comparison.add(`line ${number} of the points file`, next.value);
  assertEqual('the hash of the points file', toHex(digest.digest()), epoch.pointsHash);
  comparison.finish(header);
  return {
    lines: [
      `points: ${comparison.wallets} wallets, ${comparison.points} points by source, equal to the leaves; rules: version ${epoch.rulesVersion}`,
      ...exclusions.map(({ wallet, reason }) => `excluded: ${wallet}: ${reason}`),
    ],
    words: [
      'that each wallet earned its points from the sources in the points file',
      `that the rules of version ${epoch.rulesVersion} were in force`,
      ...(exclusions.length > 0 ? ['the reasons of the exclusions'] : []),
    ],
    bytes: next.value,
  };
}
