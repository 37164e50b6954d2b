import bs58 from 'bs58';
import { z } from 'zod';
import { innerInstructions, returnDataOf } from '../cluster/meta.ts';
import type { Simulation } from '../cluster/svm.ts';
import { describeError, type TransactionError } from '../cluster/transaction-errors.ts';
import { MalformedTransaction, PACKET_BYTES, parseTransaction, type WireTransaction } from '../cluster/wire.ts';
import type { Key } from '../keys.ts';
import { encodeAccount } from './encode-account.ts';
import { invalidParams, PREFLIGHT_FAILURE, RpcError, SIGNATURE_FAILURE } from './errors.ts';
import type { Node } from './node.ts';
import { Address, CommitmentLevel, CommitmentOptions, Encoding, inContext, type Method, method, Slot, slotFor } from './params.ts';

const SendOptions = z.object({
  skipPreflight: z.boolean().nullish(),
  preflightCommitment: CommitmentLevel.nullish(),
  encoding: z.enum(['base58', 'base64']).nullish(),
  maxRetries: z.number().int().min(0).nullish(),
  minContextSlot: Slot.nullish(),
});

const SimulateOptions = CommitmentOptions.extend({
  sigVerify: z.boolean().nullish(),
  replaceRecentBlockhash: z.boolean().nullish(),
  encoding: z.enum(['base58', 'base64']).nullish(),
  innerInstructions: z.boolean().nullish(),
  accounts: z.object({ addresses: z.array(Address), encoding: Encoding.nullish() }).nullish(),
});
type SimulateOptions = z.output<typeof SimulateOptions>;

/** Maximum length of an encoded transaction, characters. */
const MAX_CHARACTERS = { base64: 1_644, base58: 1_683 };

function decode(text: string, encoding: 'base58' | 'base64'): WireTransaction {
  if (text.length > MAX_CHARACTERS[encoding]) {
    const limits = `max: encoded/raw ${MAX_CHARACTERS[encoding]}/${PACKET_BYTES}`;
    throw invalidParams(`${encoding} encoded solana_transaction::versioned::VersionedTransaction too large: ${text.length} bytes (${limits})`);
  }
  const bytes = encoding === 'base64' ? Buffer.from(text, 'base64') : bs58.decodeUnsafe(text);
  if (!bytes || (encoding === 'base64' && bytes.toString('base64') !== text)) throw invalidParams(`invalid ${encoding} encoding`);
  try {
    return parseTransaction(Buffer.from(bytes));
  } catch (error) {
    if (error instanceof MalformedTransaction) {
      throw invalidParams(`failed to deserialize solana_transaction::versioned::VersionedTransaction: ${error.message}`);
    }
    throw error;
  }
}

const NOT_EXECUTED: Simulation = { err: null, logs: [], units: 0, inner: [], returnData: null, accounts: new Map() };

/**
 * Executes a transaction on the newest state without storing its changes. Unless `anyBlockhash` is true, first checks that the blockhash is valid at
 * `slot` and that the transaction has not landed already.
 */
function simulate(node: Node, tx: WireTransaction, how: { slot: number; seen: number; verify: boolean; anyBlockhash: boolean }): Simulation {
  const { chain } = node;
  const rejected = how.anyBlockhash ? null : chain.rejectionReason(tx, how.slot, how.seen);
  if (rejected !== null) return { ...NOT_EXECUTED, err: rejected };
  return chain.bank.simulate(tx, chain.slot, how.verify);
}

function send(node: Node, [text, options]: readonly [string, (z.output<typeof SendOptions> | null | undefined)?]): string {
  const tx = decode(text, options?.encoding ?? 'base58');
  if (options?.skipPreflight !== true) {
    const commitment = options?.preflightCommitment ?? 'finalized';
    const slot = slotFor(node, { commitment, minContextSlot: options?.minContextSlot });
    const result = simulate(node, tx, { slot, seen: node.hashSlot(commitment), verify: true, anyBlockhash: false });
    if (result.err === 'SignatureFailure') throw new RpcError(SIGNATURE_FAILURE, 'Transaction signature verification failure');
    if (result.err !== null) throw preflightFailure(result.err, result);
  }
  node.submit(tx);
  return tx.signature;
}

function preflightFailure(err: TransactionError, result: Simulation): RpcError {
  return new RpcError(PREFLIGHT_FAILURE, `Transaction simulation failed: ${describeError(err)}`, {
    accounts: null,
    err,
    innerInstructions: null,
    logs: result.logs,
    replacementBlockhash: null,
    returnData: returnDataOf(result),
    unitsConsumed: result.units,
  });
}

function simulateTransaction(node: Node, [text, options]: readonly [string, (SimulateOptions | null | undefined)?]) {
  const tx = decode(text, options?.encoding ?? 'base58');
  const verify = options?.sigVerify === true;
  const replace = options?.replaceRecentBlockhash === true;
  if (verify && replace) throw invalidParams('sigVerify may not be used with replaceRecentBlockhash');
  const slot = slotFor(node, options);
  const at = node.hashSlot(options?.commitment ?? 'finalized');
  const result = simulate(node, tx, { slot, seen: at, verify, anyBlockhash: replace });
  if (result.err === 'SignatureFailure') throw new RpcError(SIGNATURE_FAILURE, 'Transaction signature verification failure');
  const { hashes, bank } = node.chain;
  return inContext(slot, {
    err: result.err,
    logs: result.logs,
    accounts: options?.accounts ? simulatedAccounts(node, result, options.accounts, slot) : null,
    unitsConsumed: result.units,
    returnData: returnDataOf(result),
    innerInstructions: options?.innerInstructions === true ? innerInstructions(result) : null,
    replacementBlockhash: replace ? { blockhash: hashes.textOf(at), lastValidBlockHeight: bank.lastValidHeight(hashes.of(at), at) ?? 0 } : null,
  });
}

function simulatedAccounts(
  node: Node,
  result: Simulation,
  requested: { addresses: Key[]; encoding?: z.output<typeof Encoding> | null | undefined },
  slot: number,
) {
  if (requested.encoding === 'base58') throw invalidParams('base58 encoding not supported');
  if (result.err !== null) return requested.addresses.map(() => null);
  const options = { encoding: requested.encoding ?? ('base64' as const) };
  return requested.addresses.map((key) => {
    const account = result.accounts.get(key) ?? node.chain.accounts.newest(key);
    return account && account.lamports > 0n ? encodeAccount(account, options, node.chain.accounts, slot) : null;
  });
}

/** JSON-RPC methods that send or simulate transactions or request airdrops. */
export const sendingMethods: Readonly<Record<string, Method>> = {
  sendTransaction: method(z.tuple([z.string(), SendOptions.nullish()]), send),
  simulateTransaction: method(z.tuple([z.string(), SimulateOptions.nullish()]), simulateTransaction),
  requestAirdrop: method(
    z.tuple([Address, z.number().int().min(1).max(Number.MAX_SAFE_INTEGER), CommitmentOptions.nullish()]),
    (node, [to, lamports]) => node.chain.faucet.airdrop(to, BigInt(lamports)),
  ),
};
