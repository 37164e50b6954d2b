import type { App } from '#platform/app.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import type { ChainError, ComposeOutcome } from '#platform/solana/submission/index.ts';
import { associatedTokenAddress, decodeTokenAccount } from '#platform/solana/tokens.ts';
import { alert } from '../alerts.ts';
import { type BatchMember, memberOfInstruction } from './members.ts';
import type { Batch } from './rows.ts';
import { MEMBER_ERROR } from './settlement.ts';

/** Delay before the retry of a batch whose simulation failed for a temporary reason, ms. */
const WAIT_MS = 1_000;
/** Delay before the retry when the fee payer may lack lamports, ms. */
const FUNDS_MS = 5_000;

/** Error code for insufficient funds. The token program and the system program both use this code. */
const INSUFFICIENT = 1;

const failed = (error: ChainError, name: string, message: string): ComposeOutcome => ({ do: 'fail', error: { ...error, name, message } });

/**
 * Decides whether a batch waits or fails after the simulation of the batch failed. The error names only the failed instruction, so this function also
 * reads the token accounts of the treasury and the wallet to find the reason.
 */
export async function diagnose(app: App, batch: Batch, error: ChainError): Promise<ComposeOutcome> {
  const found = memberOfInstruction(batch.members, error.instruction);
  // No payment of the batch caused the error. The RPC node lags behind, the nonce of the lane has just advanced, or the fee payer lacks lamports. So
  // the batch waits; then `compose` checks the nonce again.
  if (!found) return wait(app, error);
  if (found.what === 'opening' && error.code === INSUFFICIENT) return wait(app, error);
  return await diagnoseTransfer(app, batch, found.member, error);
}

function wait(app: App, error: ChainError): ComposeOutcome {
  const isNonce = error.name === 'BlockhashNotFound' || error.instruction !== null;
  if (!isNonce) alert(app, 'fee payer', error.message);
  return { do: 'wait', ms: isNonce ? WAIT_MS : FUNDS_MS, reason: error.message };
}

async function diagnoseTransfer(app: App, batch: Batch, member: BatchMember, error: ChainError): Promise<ComposeOutcome> {
  const mint = parseAddress(batch.mint);
  const owners = [parseAddress(batch.treasury), parseAddress(member.wallet)];
  const addresses = owners.map((owner) => associatedTokenAddress(owner, mint));
  const [source, destination] = (await app.chain.node.accounts(addresses, 'confirmed')).accounts.map(decodeTokenAccount);
  if (!source || source.frozen) return failed(error, 'TreasuryFrozen', 'the token account of the treasury is missing or frozen');
  if (source.amount < batch.members.reduce((sum, { amount }) => sum + amount, 0n))
    return failed(error, 'TreasuryShort', 'the treasury does not hold the amount of the batch');
  if (destination?.frozen) return failed(error, MEMBER_ERROR, 'the token account of the wallet is frozen');
  if (!destination && !member.opens) return failed(error, 'AccountGone', 'the token account of the wallet was closed');
  if (destination && !destination.owner.equals(parseAddress(member.wallet))) {
    return failed(error, MEMBER_ERROR, 'the token account of the wallet has another owner');
  }
  return { do: 'fail', error };
}
