import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';
import bs58 from 'bs58';
import { MerkleTree } from 'merkletreejs';
import { checkChain, type Pinned } from './chain.ts';
import { amountsOf } from './formula.ts';
import { download, type Epoch, type Header, type Line, Misfit, Unreadable } from './published.ts';

/** The formula that this tool knows. */
const FORMULA = 1;

const say = (line: string) => void process.stdout.write(`${line}\n`);
const complain = (line: string) => void process.stderr.write(`${line}\n`);

function expect(what: string, shown: unknown, found: unknown): void {
  if (shown !== found) throw new Misfit(`${what} is ${shown}, but should be ${found}`);
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest();

/** leaf = sha256(0x00 ‖ epoch u64 LE ‖ index u32 LE ‖ wallet ‖ amount u64 LE) */
function leafOf(epoch: number, index: number, { wallet, amount }: Line): Buffer {
  const head = Buffer.alloc(13);
  head.writeBigUInt64LE(BigInt(epoch), 1);
  head.writeUInt32LE(index, 9);
  const tail = Buffer.alloc(8);
  tail.writeBigUInt64LE(amount);
  return sha256(Buffer.concat([head, bs58.decode(wallet), tail]));
}

/** The first line of the leaves says the same as the epoch. */
function checkHeader(number: number, epoch: Epoch, header: Header): void {
  expect('the number of the epoch', epoch.epoch, number);
  for (const [field, value] of Object.entries(header)) expect(`${field} of the leaves’ first line`, value, Reflect.get(epoch, field));
}

/** The lines are the leaves in their order, then those that are not paid; nobody twice. */
function checkLines(header: Header, lines: readonly Line[]): Line[] {
  const paid = lines.filter(({ index }) => index !== null);
  expect('the number of leaves', header.leaves, paid.length);
  expect('the number of wallets', header.wallets, lines.length);
  const seen = new Set<string>();
  for (const [i, { index, wallet, amount }] of lines.entries()) {
    if (seen.has(wallet)) throw new Misfit(`wallet ${wallet} is in the leaves twice`);
    seen.add(wallet);
    expect(`the index in line ${i + 2} of the leaves`, index, i < paid.length ? i : null);
    if (amount > 0n !== (index !== null)) throw new Misfit(`line ${i + 2} of the leaves has index ${index} and amount ${amount}`);
  }
  return paid;
}

/** The pool shared out again by points. An import has none: its amounts are what was imported. */
function checkAmounts(header: Header, lines: readonly Line[]): void {
  const total = lines.reduce((sum, { amount }) => sum + amount, 0n);
  if (header.source === 'computed') {
    expect('formulaVersion', header.formulaVersion, FORMULA);
    const points = lines.map((line) => ({ wallet: line.wallet, points: line.points ?? 0n }));
    expect(
      'points',
      header.points,
      points.reduce((sum, own) => sum + own.points, 0n),
    );
    const due = amountsOf(header, points);
    for (const { wallet, amount } of lines) expect(`the amount of ${wallet}`, amount, due.get(wallet) ?? 0n);
  }
  expect('total', header.total, total);
  if (total > header.pool) throw new Misfit(`total is ${total}, more than the pool of ${header.pool}`);
  expect('undistributed', header.undistributed, header.pool - total);
}

/** The tree of the leaves, by an implementation that is not the service's: nodes are sorted pairs, an odd one moves up. */
function checkRoot(header: Header, paid: readonly Line[]): void {
  if (paid.length === 0) {
    expect('root', header.root, null);
    return;
  }
  const leaves = paid.map((line, index) => leafOf(header.epoch, index, line));
  const tree = new MerkleTree(leaves, sha256, { sortPairs: true });
  expect('root', header.root, tree.getRoot().toString('hex'));
}

async function verify(base: string, number: number, rpc: string, pinned: Pinned): Promise<void> {
  const { epoch, header, lines } = await download(base, number);
  checkHeader(number, epoch, header);
  const paid = checkLines(header, lines);
  say(`${lines.length} wallets, ${paid.length} leaves: as they say`);
  checkAmounts(header, lines);
  say(
    `amounts: ${header.source === 'computed' ? 'shared out again from the points, all the same' : 'imported'}; total ${header.total} of a pool of ${header.pool}`,
  );
  checkRoot(header, paid);
  say(`root: ${header.root ?? 'none'}`);
  if (epoch.onChain !== null) {
    for (const line of await checkChain(epoch, epoch.onChain, rpc, pinned)) say(line);
  } else if (epoch.status === 'committed' || epoch.status === 'expired') {
    throw new Misfit(`status is ${epoch.status}, but the epoch does not say where on the chain it is`);
  } else say(`not on the chain: it is ${epoch.status}`);
}

const USAGE = 'usage: bin/verify-epoch URL EPOCH [--rpc URL] [--program ADDRESS] [--authority ADDRESS] [--mint ADDRESS]';

async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { rpc: text, program: text, authority: text, mint: text } });
  const [base = '', number = ''] = positionals;
  if (!URL.canParse(base) || !/^\d{1,9}$/.test(number) || positionals.length !== 2) {
    complain(USAGE);
    return 2;
  }
  const { rpc = process.env.SOLANA_RPC_URL ?? 'https://api.mainnet-beta.solana.com', ...pinned } = values;
  try {
    await verify(base, Number(number), rpc, pinned);
    say(`epoch ${number} is what it says`);
    return 0;
  } catch (error) {
    if (error instanceof Misfit) {
      complain(`epoch ${number} does not fit: ${error.message}`);
      return 1;
    }
    if (!(error instanceof Unreadable)) throw error;
    complain(`epoch ${number} could not be checked: ${error.message}`);
    return 2;
  }
}

process.exitCode = await main();
