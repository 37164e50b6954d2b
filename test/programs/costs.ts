/**
 * What the program costs, measured in the SVM: `node test/programs/costs.ts` prints the table that the README shows. Compute units
 * differ with the addresses, by 1,500 for each bump that is tried until one fits; so a row says the middle and the most of many runs.
 * Lamports are at the SVM's rent, 6,960 a byte, and do not count the fee.
 */
import { Keypair, Transaction, type TransactionInstruction } from '@solana/web3.js';
import { wireOf } from './svm.ts';
import { deepened, planOf, wallets } from './tree.ts';
import { World } from './world.ts';

/** A tree of a million. */
const LEAVES = 1_000_000;
const DEPTH = 20;
const FEE = 5_000n;

interface Run {
  readonly units: number;
  /** What it cost beside the fee; negative is what came back. */
  readonly lamports: number;
  /** Of the transaction with its signatures. */
  readonly bytes: number;
}

export interface Cost {
  readonly what: string;
  /** Compute units: the middle of the runs, and the most. */
  readonly units: number;
  readonly most: number;
  readonly lamports: number;
  readonly bytes: number;
}

/** Sends, with the payer paying, and looks at what that cost it, or at what somebody else got. */
function measured(world: World, instructions: readonly TransactionInstruction[], signers: readonly Keypair[], whose = world.payer): Run {
  const before = world.svm.lamports(whose.publicKey);
  const { units } = world.must(instructions, ...signers);
  const fee = whose === world.payer ? FEE * BigInt(1 + signers.length) : 0n;
  const tx = new Transaction({ recentBlockhash: Keypair.generate().publicKey.toBase58(), feePayer: world.payer.publicKey }).add(...instructions);
  return { units, lamports: Number(before - world.svm.lamports(whose.publicKey) - fee), bytes: wireOf(tx).length };
}

/** One epoch from its beginning to its end. */
function runs(): [what: string, run: Run][] {
  const world = new World('all features');
  const { authority } = world;
  const epoch = world.plan(world.mint(), deepened(planOf(wallets(8), 1n), DEPTH - 3, LEAVES));
  const open = measured(world, [...world.funding(epoch), world.opening(epoch)], [authority]);
  for (const index of [0, 1]) world.destination(epoch, index);
  const first = measured(world, [world.claiming(epoch, 0)], []);
  const later = measured(world, [world.claiming(epoch, 1)], []);
  const withAccount = measured(world, [world.tokenAccount(epoch.claim(2).wallet, epoch.mint), world.claiming(epoch, 2)], []);
  const settle = measured(world, [world.settling(epoch)], [authority]);
  const close = measured(world, [world.closing(epoch)], [], authority);
  const closePage = measured(world, [world.closingPage(epoch, 0)], [], authority);
  return [
    ['vault account, funding and `open`', open],
    ['`claim`, first of its page', first],
    ['`claim`, later', later],
    ['wallet’s token account and `claim`, later', withAccount],
    ['`settle`', settle],
    ['`close`', close],
    ['`close_page`', closePage],
  ];
}

/** Measures each transaction in so many epochs of a million leaves. */
export function measure(times: number): Cost[] {
  const found = new Map<string, Run[]>();
  for (let i = 0; i < times; i++) for (const [what, run] of runs()) found.set(what, [...(found.get(what) ?? []), run]);
  return [...found].map(([what, list]) => {
    const units = list.map((run) => run.units).sort((a, b) => a - b);
    const [one] = list;
    return { what, units: units[units.length >> 1] ?? 0, most: units.at(-1) ?? 0, lamports: one?.lamports ?? 0, bytes: one?.bytes ?? 0 };
  });
}

if (import.meta.main) {
  const number = new Intl.NumberFormat('en');
  process.stdout.write('| transaction | compute units | most seen | lamports | bytes |\n| --- | ---: | ---: | ---: | ---: |\n');
  for (const { what, ...cost } of measure(100)) {
    process.stdout.write(`| ${[what, ...[cost.units, cost.most, cost.lamports, cost.bytes].map((value) => number.format(value))].join(' | ')} |\n`);
  }
}
