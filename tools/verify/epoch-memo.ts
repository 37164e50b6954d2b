import { type FetchedTransaction, memosOf } from '#platform/solana/fetched-transaction.ts';
import { type Address, parseAddress } from '#platform/solana/primitives.ts';
import { RpcNode } from '#platform/solana/rpc-node.ts';
import { type Epoch, Unreadable, VerificationFailure } from './epoch-published.ts';

const PREFIX = 'coinop:epoch:';
/** First byte of the data of the program's instruction `open`, and the index of the epoch account in the account list of this instruction. */
const OPEN = 0;
const OPENED_EPOCH = 3;
/** Limits of the search for the transaction that opened an epoch, when the service does not name it. */
const HISTORY_PAGE = 1_000;
const MAX_PAGES = 10;
const MAX_SEARCHED = 20;

type OnChain = NonNullable<Epoch['onChain']>;

const opens = ({ instructions, outcome }: FetchedTransaction, { program, account }: OnChain): boolean =>
  outcome?.failed === false &&
  instructions.some((call) => call.program === program && call.data[0] === OPEN && call.accounts[OPENED_EPOCH] === account);

/** Returns the oldest transactions that name an address, oldest first; none when its history is too long. */
async function oldestOf(node: RpcNode, address: Address): Promise<string[]> {
  const signatures: string[] = [];
  for (let page = 0; page < MAX_PAGES; page++) {
    const found = await node.history(address, { limit: HISTORY_PAGE, before: signatures.at(-1) }, 'finalized');
    signatures.push(...found.map(({ signature }) => signature));
    if (found.length < HISTORY_PAGE) return signatures.slice(-MAX_SEARCHED).reverse();
  }
  return [];
}

/** Returns the memos of epochs in the transaction that opened an epoch. */
async function readMemos(node: RpcNode, { commitSignature }: Epoch, onChain: OnChain): Promise<string[]> {
  const signatures = commitSignature === null ? await oldestOf(node, parseAddress(onChain.account)) : [commitSignature];
  for (const signature of signatures) {
    const found = await node.transaction(signature, 'finalized');
    if (found && opens(found, onChain)) return memosOf(found.instructions).filter((memo) => memo.startsWith(PREFIX));
    if (found && commitSignature !== null) throw new VerificationFailure(`the transaction ${signature} did not open the epoch`);
  }
  throw new Unreadable('the node does not show the transaction that opened the epoch');
}

/**
 * Compares the memo of the transaction that opened an epoch with the published epoch.
 * @param bytes length of the points file; null when the file was not read
 * @returns a sentence about the memo
 * @throws VerificationFailure when the memo differs; Unreadable when the node does not answer or does not have the transaction
 */
export async function checkMemo(epoch: Epoch, onChain: OnChain, bytes: number | null, rpc: string): Promise<string> {
  const memos = await readMemos(new RpcNode(rpc, { retriesRateLimit: true }), epoch, onChain).catch((error: unknown) => {
    if (error instanceof VerificationFailure || error instanceof Unreadable) throw error;
    throw new Unreadable(`${rpc} cannot be read: ${Error.isError(error) ? error.message : String(error)}`);
  });
  const [memo, ...others] = memos;
  if (memo === undefined) return checkMissing(epoch);
  const { source, pointsHash } = epoch;
  if (source === 'computed' && pointsHash === null) throw new VerificationFailure(`the service publishes no points file, but the memo is ${memo}`);
  const statement = source === 'import' ? 'import' : `points:${pointsHash}:${bytes ?? /\d*$/.exec(memo)?.[0]}`;
  const expected = `${PREFIX}${epoch.epoch}:${statement}`;
  if (memo !== expected || others.length > 0)
    throw new VerificationFailure(`on the chain, the memo is ${memos.join(' and ')}, but should be ${expected}`);
  return source === 'import' ? 'memo: the epoch was imported' : 'memo: the chain holds the hash of the points file';
}

/** Decides about an epoch whose opening transaction has no memo. Earlier versions of the service wrote none and stored no points file. */
function checkMissing({ source, pointsHash }: Epoch): string {
  if (source === 'import') return 'memo: none; the service says that the epoch was imported';
  if (pointsHash !== null) throw new VerificationFailure('on the chain, no memo holds the hash of the points file');
  throw new Unreadable('no memo on the chain holds the hash of a points file');
}
