import { HASH_BYTES, instantOf, millis, toHex } from '../../../src/lib/draw/bytes.ts';
import { type Entry, entryLeaves } from '../../../src/lib/draw/entry.ts';
import { firstDifference } from '../../../src/lib/draw/mismatch.ts';
import { runningHashes } from '../../../src/lib/draw/round-leaf.ts';
import { entryOf, Receipt, SignedAnnouncement, SignedClosed, verifyStatement } from '../../../src/lib/draw/statements.ts';
import { demand, Lie, type Report, Unknown } from './report.ts';

/** The signed statements that the verifier kept, as parsed JSON. */
export interface KeptStatements {
  readonly receipts?: readonly unknown[] | undefined;
  readonly announcement?: unknown;
  /** One closing, or a list of closings. */
  readonly closed?: unknown;
}

/** The kept statements after validation of their form. */
export interface Evidence {
  readonly receipts: readonly Receipt[];
  readonly announcement: SignedAnnouncement | null;
  readonly closings: readonly SignedClosed[];
}

type Signed = Evidence['receipts'][number] | SignedAnnouncement | SignedClosed;

const all = ({ receipts, announcement, closings }: Evidence): { name: string; signed: Signed }[] => [
  ...receipts.map((signed, i) => ({ name: `receipt ${i + 1}`, signed })),
  ...(announcement ? [{ name: 'the kept announcement', signed: announcement }] : []),
  ...closings.map((signed) => ({ name: 'the kept closing', signed })),
];

/** Parses the kept statements. @throws Unknown when one does not have its form or is about another round */
export function readEvidence(kept: KeptStatements, round: string): Evidence {
  const parse = <Output>(name: string, shape: { safeParse(value: unknown): { success: boolean; data?: Output } }, value: unknown): Output => {
    const { data } = shape.safeParse(value);
    if (data === undefined) throw new Unknown('evidence', `${name} does not have the form of such a statement`);
    return data;
  };
  const evidence: Evidence = {
    receipts: (kept.receipts ?? []).map((value, i) => parse(`receipt ${i + 1}`, Receipt, value)),
    announcement: kept.announcement === undefined ? null : parse('the kept announcement', SignedAnnouncement, kept.announcement),
    closings: [kept.closed ?? []].flat().map((value) => parse('the kept closing', SignedClosed, value)),
  };
  for (const { name, signed } of all(evidence))
    if (signed.statement.round !== round) throw new Unknown('evidence', `${name} is about round ${signed.statement.round}`);
  return evidence;
}

/** Returns the draws account that the kept statements name; null when nothing was kept. */
export const drawsNamedBy = (evidence: Evidence): string | null => all(evidence)[0]?.signed.statement.draws ?? null;

/** Returns whether the house accepted entries or closed with entries, according to kept statements. */
export const showsEntries = ({ receipts, closings }: Evidence): boolean =>
  receipts.length > 0 || closings.some(({ statement }) => statement.count > 0);

/**
 * Checks the signatures of the kept statements.
 * @throws Unknown when a signature is not valid, because then the statement proves nothing
 */
export function checkSignatures(evidence: Evidence, receiptKey: string): void {
  for (const { name, signed } of all(evidence))
    if (!verifyStatement(receiptKey, signed)) throw new Unknown('evidence', `${name} is not signed with the receipt key ${receiptKey}`);
}

/** Checks that the kept statements name the draws account and the rules of the round. */
export function checkRules(report: Report, evidence: Evidence, draws: string, parametersHash: string): void {
  for (const { name, signed } of all(evidence)) {
    const { draws: named, parametersHash: stated } = signed.statement;
    if (named !== draws) throw new Lie('announced', `${name} names the draws account ${named}, but the round has ${draws}`);
    if (stated !== parametersHash)
      throw new Lie('announced', `${name} has other rules than the round: their hash is ${stated}, not ${parametersHash}`);
  }
  if (all(evidence).length > 0) report.holds('announced', 'the kept statements have the rules of this round');
  else report.word('that this round, with these rules, was announced before the draw');
}

/** Checks that each receipt's entry is at its place in the list, and that the list up to this entry is the list of that time. */
export function checkReceipts(report: Report, { receipts }: Evidence, parametersHash: Uint8Array, round: string, entries: readonly Entry[]): void {
  if (receipts.length === 0) {
    report.word('that no accepted entry is missing from the list');
    return;
  }
  const leaves = entryLeaves(round, entries);
  const running = runningHashes(parametersHash, leaves);
  const at = (hashes: Uint8Array, index: number) => toHex(hashes.subarray(HASH_BYTES * index, HASH_BYTES * (index + 1)));
  for (const [i, { statement }] of receipts.entries()) {
    const { index, leaf, runningHash } = statement;
    const listed = entries[index];
    if (listed === undefined) throw new Lie('receipts', `receipt ${i + 1}: the list has no entry ${index}, which the house accepted`);
    demand('receipts', firstDifference(entryOf(statement), listed, `entries[${index}]`));
    const name = `receipt ${i + 1}, entry ${index}:`;
    if (leaf !== at(leaves, index)) throw new Lie('receipts', `${name} its leaf is not the hash of its entry`);
    if (runningHash !== at(running, index)) throw new Lie('receipts', `${name} the entries before it are not those that the house had accepted`);
  }
  const last = Math.max(...receipts.map(({ statement }) => statement.index));
  report.holds('receipts', `${receipts.length} receipts fit; ${entries.length - 1 - last} entries follow the last one`);
}

/** Checks that the close is the one of each kept closing. Of two kept closings that differ, at most one is the published one, so the other is a lie. */
export function checkKeptClose(report: Report, { closings }: Evidence, { statement: shown }: SignedClosed): void {
  const found = { closedAt: shown.closedAt, count: shown.count, runningHash: shown.runningHash };
  for (const { statement } of closings) {
    const { closedAt, count, runningHash } = statement;
    demand('closing', firstDifference({ closedAt, count, runningHash }, found, 'closed.statement'));
  }
  if (closings.length > 0)
    report.holds('closing', `the round closed at ${instantOf(millis(found.closedAt))} with ${found.count} entries, as the kept closing says`);
}
