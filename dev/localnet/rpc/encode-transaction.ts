import bs58 from 'bs58';
import type { TransactionMeta } from '../cluster/meta.ts';
import { mayWrite, parseTransaction, type WireTransaction } from '../cluster/wire.ts';
import { base58Of } from '../keys.ts';
import { RpcError, UNSUPPORTED_VERSION } from './errors.ts';
import { parseInstruction } from './parse-instruction.ts';

export type TransactionEncoding = 'json' | 'jsonParsed' | 'base64' | 'base58';

/** Encodes a transaction, its meta and its version as getTransaction and getBlock do. */
export function encodeTransaction(raw: Buffer, meta: TransactionMeta, encoding: TransactionEncoding, maxVersion: number | null | undefined) {
  const tx = parseTransaction(raw);
  if (tx.version !== 'legacy' && (maxVersion === null || maxVersion === undefined)) {
    const hint = 'Please set the configuration parameter "maxSupportedTransactionVersion" to 0.';
    throw new RpcError(UNSUPPORTED_VERSION, `Transaction version (${tx.version}) is not supported by the requesting client. ${hint}`);
  }
  const version = maxVersion === null || maxVersion === undefined ? {} : { version: tx.version };
  return { transaction: encoded(tx, meta, encoding), meta: encoding === 'jsonParsed' ? parsedMeta(tx, meta) : meta, ...version };
}

function encoded(tx: WireTransaction, meta: TransactionMeta, encoding: TransactionEncoding) {
  if (encoding === 'base64') return [tx.raw.toString('base64'), 'base64'];
  if (encoding === 'base58') return [bs58.encode(tx.raw), 'base58'];
  const signatures = tx.signatures.map((signature) => bs58.encode(signature));
  return { signatures, message: encoding === 'json' ? plainMessage(tx) : parsedMessage(tx, meta) };
}

const lookupsOf = (tx: WireTransaction) =>
  tx.version === 'legacy'
    ? {}
    : {
        addressTableLookups: tx.lookups.map(({ table, writable, readonly }) => ({
          accountKey: base58Of(table),
          writableIndexes: [...writable],
          readonlyIndexes: [...readonly],
        })),
      };

function plainMessage(tx: WireTransaction) {
  return {
    header: {
      numRequiredSignatures: tx.required,
      numReadonlySignedAccounts: tx.readonlySigned,
      numReadonlyUnsignedAccounts: tx.readonlyUnsigned,
    },
    accountKeys: tx.keys.map(base58Of),
    recentBlockhash: base58Of(tx.blockhash),
    instructions: tx.instructions.map(({ programIndex, accounts, data }) => ({
      programIdIndex: programIndex,
      accounts: [...accounts],
      data: bs58.encode(data),
      stackHeight: 1,
    })),
    ...lookupsOf(tx),
  };
}

function allKeys(tx: WireTransaction, meta: TransactionMeta): string[] {
  return [...tx.keys.map(base58Of), ...meta.loadedAddresses.writable, ...meta.loadedAddresses.readonly];
}

function parsedMessage(tx: WireTransaction, meta: TransactionMeta) {
  const keys = allKeys(tx, meta);
  const called = new Set(tx.instructions.map(({ programIndex }) => programIndex));
  const accountKeys = keys.map((pubkey, i) => ({
    pubkey,
    signer: i < tx.required,
    writable: i < tx.keys.length ? mayWrite(tx, i) && !called.has(i) : i < tx.keys.length + meta.loadedAddresses.writable.length,
    source: i < tx.keys.length ? 'transaction' : 'lookupTable',
  }));
  const instructions = tx.instructions.map(({ programIndex, accounts, data }) => parseInstruction(keys, programIndex, [...accounts], data, 1));
  return { accountKeys, recentBlockhash: base58Of(tx.blockhash), instructions, ...lookupsOf(tx) };
}

/**
 * Returns the meta for `jsonParsed`: with parsed inner instructions, and without `loadedAddresses`, because `jsonParsed` lists these addresses among
 * the account keys.
 */
function parsedMeta(tx: WireTransaction, meta: TransactionMeta) {
  const keys = allKeys(tx, meta);
  const { loadedAddresses, ...rest } = meta;
  return {
    ...rest,
    innerInstructions: meta.innerInstructions.map(({ index, instructions }) => ({
      index,
      instructions: instructions.map((inner) =>
        parseInstruction(keys, inner.programIdIndex, inner.accounts, Buffer.from(bs58.decode(inner.data)), inner.stackHeight),
      ),
    })),
  };
}
