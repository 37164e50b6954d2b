/**
 * Measures the costs of the program in the SVM: `node test/programs/draws/costs.ts` prints the table of the README. Compute units depend on the
 * addresses (1,500 for each bump that is tried), so a row has the median and the maximum of many runs.
 * Lamports are without the fee, at the SVM's rent of 6,960 lamports per byte.
 */
import { ComputeBudgetProgram } from '@solana/web3.js';
import { type Cost, measureAll, measureOne, printCosts, type Run, sizeOf } from '../cost-table.ts';
import { key } from '../instructions.ts';
import { DrawsWorld } from './world.ts';

/** Maximum size of a transaction, bytes. */
export const MAX_TRANSACTION_BYTES = 1_232;

/** The compute budget that the service adds to each transaction. */
const BUDGET = [ComputeBudgetProgram.setComputeUnitLimit({ units: 400_000 }), ComputeBudgetProgram.setComputeUnitPrice({ microLamports: 0 })];

/** Returns how many commitments fit into a transaction with a compute budget. */
export function commitmentsPerTransaction(world: DrawsWorld, payer = world.payer): number {
  const one = () => world.committing({ payer: payer.publicKey });
  let count = 0;
  const commits = [];
  while (sizeOf([...BUDGET, ...commits, one()], payer) <= MAX_TRANSACTION_BYTES) {
    commits.push(one());
    count++;
  }
  return count;
}

/** Measures all transactions of one draws account. */
function runs(): [name: string, run: Run][] {
  const world = new DrawsWorld('all features');
  const { svm, payer, founder, committer } = world;
  const init = measureOne(svm, [world.founding()], [payer, founder]);
  const commits = (count: number, by = payer) => Array.from({ length: count }, () => world.committing({ payer: by.publicKey }));
  const one = measureOne(svm, [...BUDGET, ...commits(1)], [payer, committer]);
  const separate = commitmentsPerTransaction(world);
  const many = measureOne(svm, [...BUDGET, ...commits(separate)], [payer, committer]);
  const same = commitmentsPerTransaction(world, committer);
  const byCommitter = measureOne(svm, [...BUDGET, ...commits(same, committer)], [committer]);
  const rotate = measureOne(svm, [world.rotating(key())], [payer, founder]);
  return [
    ['`init_draws`', init],
    ['`rotate`', rotate],
    ['`commit`', one],
    [`${separate} × \`commit\`, as many as fit`, many],
    [`${same} × \`commit\`, the committer pays`, byCommitter],
  ];
}

/** Measures each transaction `times` times. */
export const measure = (times: number): Cost[] => measureAll(runs, times);

if (import.meta.main) printCosts(measure(100));
