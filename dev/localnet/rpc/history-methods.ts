import { z } from 'zod';
import type { LandedTransaction } from '../cluster/ledger.ts';
import { encodeTransaction } from './encode-transaction.ts';
import { BLOCK_NOT_AVAILABLE, CLEANED_UP, invalidParams, RpcError, SLOT_SKIPPED } from './errors.ts';
import type { Node } from './node.ts';
import { Address, CommitmentOptions, inContext, type Method, method, Signature, Slot, slotFor } from './params.ts';

const MAX_STATUSES = 256;
const MAX_SIGNATURES = 1_000;

const TransactionEncoding = z.enum(['json', 'jsonParsed', 'base64', 'base58']);
const TransactionOptions = CommitmentOptions.extend({
  encoding: TransactionEncoding.nullish(),
  maxSupportedTransactionVersion: z.number().int().min(0).max(255).nullish(),
});
/** Options of getTransaction: an object, or only the encoding as a string, as in old versions of the RPC API. */
const OptionsOrEncoding = z
  .union([TransactionOptions, TransactionEncoding.transform((encoding) => TransactionOptions.parse({ encoding }))])
  .nullish();
const BlockOptions = TransactionOptions.extend({
  transactionDetails: z.enum(['full', 'signatures', 'none', 'accounts']).nullish(),
  rewards: z.boolean().nullish(),
});
const SignaturesOptions = CommitmentOptions.extend({
  limit: z.number().int().min(1).max(MAX_SIGNATURES).nullish(),
  before: Signature.nullish(),
  until: Signature.nullish(),
});

/**
 * Returns the newest slot that a history method may read.
 * @throws RpcError for `processed`, which history methods do not support
 */
function historySlot(node: Node, options: z.output<typeof CommitmentOptions> | null | undefined): number {
  if (options?.commitment === 'processed') throw invalidParams('Method does not support commitment below `confirmed`');
  return slotFor(node, options);
}

function status(node: Node, landed: LandedTransaction) {
  const { clock } = node.chain;
  const confirmationStatus = node.statusOf(landed.slot);
  return {
    slot: landed.slot,
    confirmations: confirmationStatus === 'finalized' ? null : clock.height(node.tip) - clock.height(landed.slot),
    err: landed.err,
    status: landed.err === null ? { Ok: null } : { Err: landed.err },
    confirmationStatus,
  };
}

function statuses(node: Node, signatures: readonly string[], search: boolean) {
  if (signatures.length > MAX_STATUSES) throw invalidParams(`Too many inputs provided; max ${MAX_STATUSES}`);
  const value = signatures.map((signature) => {
    const landed = node.find(signature, search);
    return landed ? status(node, landed) : null;
  });
  return inContext(node.tip, value);
}

function signaturesForAddress(node: Node, address: string, options: z.output<typeof SignaturesOptions> | null | undefined) {
  const newest = historySlot(node, options);
  const limit = options?.limit ?? MAX_SIGNATURES;
  const all = node.chain.ledger.of(address);
  const before = options?.before;
  const start = before ? all.findLastIndex(({ signature }) => signature === before) : all.length;
  const found: object[] = [];
  for (let i = start - 1; i >= 0 && found.length < limit; i--) {
    const landed = all[i];
    if (!landed || landed.signature === options?.until || landed.slot < node.firstSlot) break;
    const seen = landed.slot > newest ? null : node.view(landed);
    if (!seen) continue;
    const { signature, slot, err, memo } = seen;
    found.push({ signature, slot, err, memo, blockTime: node.chain.clock.unixSeconds(slot), confirmationStatus: node.statusOf(slot) });
  }
  return found;
}

function transaction(node: Node, signature: string, options: z.output<typeof TransactionOptions> | null | undefined) {
  const newest = historySlot(node, options);
  const landed = node.find(signature, true);
  if (!landed || landed.slot > newest) return null;
  const { raw, meta } = node.chain.storedTransaction(landed);
  const encoding = options?.encoding ?? 'json';
  return {
    slot: landed.slot,
    blockTime: node.chain.clock.unixSeconds(landed.slot),
    ...encodeTransaction(raw, meta, encoding, options?.maxSupportedTransactionVersion),
  };
}

function block(node: Node, slot: number, options: z.output<typeof BlockOptions> | null | undefined) {
  const { clock, hashes, ledger } = node.chain;
  if (slot > historySlot(node, options)) throw new RpcError(BLOCK_NOT_AVAILABLE, `Block not available for slot ${slot}`);
  if (slot < node.firstSlot) {
    throw new RpcError(CLEANED_UP, `Block ${slot} cleaned up, does not exist on node. First available block: ${node.firstSlot}`);
  }
  if (!clock.hasBlock(slot)) {
    throw new RpcError(SLOT_SKIPPED, `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot`);
  }
  const parentSlot = slot === 0 ? 0 : clock.lastBlock(slot - 1);
  const header = {
    blockHeight: clock.height(slot),
    blockTime: clock.unixSeconds(slot),
    blockhash: hashes.textOf(slot),
    parentSlot,
    previousBlockhash: hashes.textOf(parentSlot),
  };
  const rewards = options?.rewards === false ? {} : { rewards: [] };
  const details = options?.transactionDetails ?? 'full';
  if (details === 'none') return { ...header, ...rewards };
  if (details === 'signatures') return { ...header, ...rewards, signatures: ledger.block(slot).map(({ signature }) => signature) };
  if (details === 'accounts') throw invalidParams('transactionDetails accounts is not supported');
  const transactions = ledger.block(slot).map((landed) => {
    const { raw, meta } = node.chain.storedTransaction(landed);
    return encodeTransaction(raw, meta, options?.encoding ?? 'json', options?.maxSupportedTransactionVersion);
  });
  return { ...header, ...rewards, transactions };
}

/** JSON-RPC methods that read transactions and blocks. */
export const historyMethods: Readonly<Record<string, Method>> = {
  getSignatureStatuses: method(
    z.tuple([z.array(Signature), z.object({ searchTransactionHistory: z.boolean().nullish() }).nullish()]),
    (node, [signatures, options]) => statuses(node, signatures, options?.searchTransactionHistory === true),
  ),
  getSignaturesForAddress: method(z.tuple([Address, SignaturesOptions.nullish()]), (node, [address, options]) =>
    signaturesForAddress(node, address, options),
  ),
  getTransaction: method(z.tuple([Signature, OptionsOrEncoding]), (node, [signature, options]) => transaction(node, signature, options)),
  getBlock: method(z.tuple([Slot, BlockOptions.nullish()]), (node, [slot, options]) => block(node, slot, options)),
};
