import { fail } from '#lib/errors.ts';
import { statement } from '#platform/db/sql.ts';
import { distributorError } from '#platform/solana/distributor/index.ts';
import {
  type ChainError,
  type ComposeOutcome,
  type FailedTransaction,
  TOKEN_ACCOUNTS,
  type TransactionDraft,
  type TransactionType,
} from '#platform/solana/submission/index.ts';
import { claimSubmitted } from '../events.ts';
import { compose, EXPIRED, RETRY_MS } from './compose.ts';
import { recordPageOpening } from './pages.ts';
import { failureDelayMs } from './parking.ts';
import { CLAIM } from './rows.ts';
import { confirmClaims, failClaims, finishClaims, retractClaims } from './settlement.ts';
import { deleteOpening, OPEN_FIRST, recordOpening } from './token-accounts.ts';

interface Submitted {
  epoch: number;
  index: number;
  wallet: string;
  amount: string;
  mint: string;
  first: boolean;
}
const submitClaim = statement<Submitted>(
  'submit_claim',
  `with before as (select id, state from claims where id = $1 and state in ('queued', 'submitted') for update)
   update claims c set state = 'submitted', signature = $2, changed_at = app_now() from before b, epoch_accounts a
   where c.id = b.id and a.epoch = c.epoch returning c.epoch, c.index, c.wallet, c.amount::text, a.mint, b.state = 'queued' as first`,
);

/** Error texts for clients, keyed by the name of the error that the program returned. Each error concerns the wallet's token account or the epoch. */
const REASONS: Readonly<Record<string, string>> = {
  NoDestination: OPEN_FIRST,
  BadDestination: 'the token account of the wallet has another owner',
  DestinationFrozen: 'the token account of the wallet is frozen',
  Expired: EXPIRED,
};

const spentOn = ({ spends = [] }: TransactionDraft, wanted: string) =>
  spends.reduce((sum, { asset, amount }) => (asset === wanted ? sum + amount : sum), 0n);

const programError = ({ instruction, code }: ChainError) => (instruction === null || code === null ? null : distributorError(code));

function reasonOf({ error }: FailedTransaction): string {
  const known = programError(error);
  return (known && REASONS[known.name]) ?? known?.message ?? error.message;
}

/**
 * The transaction type of a claim. The service pays the transaction fees; the program pays the tokens only to the wallet in the leaf. The bitmap on
 * the chain allows one payment per leaf, so neither a retry nor a claim of another sender can pay a leaf twice.
 */
export const claim: TransactionType = {
  ...CLAIM,
  scope: 'claims',
  afterFailure: 'again',
  maxLive: 3,
  failureDelayMs,
  compose,
  async simulationFailed(_app, _subject, error): Promise<ComposeOutcome | undefined> {
    const known = programError(error);
    if (!known) return undefined;
    const reason = REASONS[known.name];
    if (reason !== undefined) return { do: 'fail', error: { ...error, name: known.name, message: reason } };
    // The next call of `compose` finds out whether the claim, or the end of the epoch, is finalized.
    if (known.name === 'AlreadyClaimed' || known.name === 'NotOpen') return { do: 'wait', ms: RETRY_MS, reason: known.message };
    return undefined;
  },
  async signed(tx, { subject, signature, draft, isFurther }) {
    const row = (await tx.query(submitClaim, [subject, signature]))[0];
    if (!row) throw fail(409, 'the claim is no longer queued or submitted');
    const { epoch, index, wallet, amount, mint, first } = row;
    const tokenAccount = spentOn(draft, TOKEN_ACCOUNTS);
    // The draft spends SOL for two rents only: the token account and the bitmap page. So any SOL above the rent of the token account is for the page.
    if (spentOn(draft, 'sol') > tokenAccount) await recordPageOpening(tx, { id: subject, epoch, index });
    if (tokenAccount > 0n) await recordOpening(tx, subject, mint);
    // An earlier attempt that may still land may open the account.
    else if (!isFurther) await deleteOpening(tx, subject);
    if (first) tx.emit(claimSubmitted, { claimId: subject, epoch, wallet, amount }, wallet);
  },
  confirmed: confirmClaims,
  retracted: retractClaims,
  finalized: finishClaims,
  failed: (tx, failures) => failClaims(tx, failures, reasonOf),
};
