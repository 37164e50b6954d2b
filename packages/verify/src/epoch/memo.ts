import type { Chain, ChainTransaction } from '../chain.ts';
import { Lie, Unknown } from '../report.ts';
import type { Epoch } from './published.ts';

const PREFIX = 'coinop:epoch:';
/** First byte of the data of the program's instruction `open`, and the index of the epoch account in the account list of this instruction. */
const OPEN = 0;
const OPENED_EPOCH = 3;
/** Limits of the search for the transaction that opened an epoch, when the service does not name it. */
const HISTORY_PAGE = 1_000;
const MAX_PAGES = 10;
const MAX_SEARCHED = 20;
const MEMO_PROGRAMS = ['MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr', 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo'];

type OnChain = NonNullable<Epoch['onChain']>;

const opens = ({ instructions, failed }: ChainTransaction, { program, account }: OnChain): boolean =>
  !failed && instructions.some((call) => call.program === program && call.data[0] === OPEN && call.accounts[OPENED_EPOCH] === account);

/** Returns the oldest transactions that name an address, oldest first; none when its history is too long. */
async function oldestOf(chain: Chain, address: string): Promise<string[]> {
  const signatures: string[] = [];
  for (let page = 0; page < MAX_PAGES; page++) {
    const found = await chain.history(address, { limit: HISTORY_PAGE, before: signatures.at(-1) });
    signatures.push(...found);
    if (found.length < HISTORY_PAGE) return signatures.slice(-MAX_SEARCHED).reverse();
  }
  return [];
}

const memosOf = ({ instructions }: ChainTransaction): string[] =>
  instructions.filter(({ program }) => MEMO_PROGRAMS.includes(program)).map(({ data }) => new TextDecoder().decode(data));

/** Returns the memos of epochs in the transaction that opened an epoch. */
async function readMemos(chain: Chain, { commitSignature }: Epoch, onChain: OnChain): Promise<string[]> {
  const signatures = commitSignature === null ? await oldestOf(chain, onChain.account) : [commitSignature];
  for (const signature of signatures) {
    const found = await chain.transaction(signature);
    if (found && opens(found, onChain)) return memosOf(found).filter((memo) => memo.startsWith(PREFIX));
    if (found && commitSignature !== null) throw new Lie('memo', `the transaction ${signature} did not open the epoch`);
  }
  throw new Unknown('memo', 'the node does not show the transaction that opened the epoch');
}

/**
 * Compares the memo of the transaction that opened an epoch with the published epoch.
 * @param bytes length of the points file; null when the file was not read
 * @returns a sentence about the memo
 * @throws Lie when the memo differs; Unknown when the node does not answer or does not have the transaction
 */
export async function checkMemo(epoch: Epoch, onChain: OnChain, bytes: number | null, chain: Chain): Promise<string> {
  const memos = await readMemos(chain, epoch, onChain);
  const [memo, ...others] = memos;
  if (memo === undefined) return checkMissing(epoch);
  const { source, pointsHash } = epoch;
  if (source === 'computed' && pointsHash === null) throw new Lie('memo', `the service publishes no points file, but the memo is ${memo}`);
  const statement = source === 'import' ? 'import' : `points:${pointsHash}:${bytes ?? /\d*$/.exec(memo)?.[0]}`;
  const expected = `${PREFIX}${epoch.epoch}:${statement}`;
  if (memo !== expected || others.length > 0) throw new Lie('memo', `on the chain, the memo is ${memos.join(' and ')}, but should be ${expected}`);
  return source === 'import' ? 'memo: the epoch was imported' : 'memo: the chain holds the hash of the points file';
}

/** Decides about an epoch whose opening transaction has no memo. Earlier versions of the service wrote none and stored no points file. */
function checkMissing({ source, pointsHash }: Epoch): string {
  if (source === 'import') return 'memo: none; the service says that the epoch was imported';
  if (pointsHash !== null) throw new Lie('memo', 'on the chain, no memo holds the hash of the points file');
  throw new Unknown('memo', 'no memo on the chain holds the hash of a points file');
}
