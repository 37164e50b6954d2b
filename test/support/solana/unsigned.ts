import { VersionedTransaction } from '@solana/web3.js';

/** Decodes a transaction in base64. */
export const decodeTransaction = (text: string): VersionedTransaction => VersionedTransaction.deserialize(Buffer.from(text, 'base64'));
