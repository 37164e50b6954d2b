import { createHash } from 'node:crypto';
import { type AccountInfo, PublicKey } from '@solana/web3.js';
import { verifyStrict } from '#lib/sign-in/ed25519.ts';
import type { App } from '#platform/app.ts';
import { TOKEN_PROGRAM } from '../tokens.ts';
import { holderOf } from './holder.ts';
import type { Name } from './name.ts';
import { leadsTo, ownedBy, UNKNOWN, UNREADABLE, type Verdict } from './verdict.ts';

/** The SPL Name Service, and the registry of names in it: `.sns`, and `.sol` until it moved to the record service. */
export const NAME_SERVICE = new PublicKey('namesLPneVptA9Z5rqUDD9tMTWEJwofgaYwp8cawRkX');
export const ROOT = new PublicKey('58PwtjSDuFHuUkYjH9BYnnQKHfwo9reZhC2zMJv9JPkx');
/** Wraps names in tokens. */
export const TOKENIZER = new PublicKey('nftD3vbNkNqfj2Sd3HZwbpw4BxxKWr4AjGb9X38JeZk');
/** The class of records that the program of records has certified: its central state. */
export const CERTIFIED = new PublicKey('2pMnqHvei2N5oDcVGCRdZx48gqti199wr5CsyTTafsbo');

/** A name account: parent, owner and class, 32 bytes each, then what it holds. */
const HEADER_BYTES = 96;
/** A tokenizer's record begins with its tag; this one means that the name is in its keeping. */
const ACTIVE = 2;
const NFT_RECORD_BYTES = 98;
/** How a certified record was validated: by a signature on Solana. */
const BY_SOLANA = 1;

/** Where everything stands that decides on a name. */
export interface NameAddresses {
  readonly name: PublicKey;
  readonly parent: PublicKey;
  /** The tokenizer's record, which owns a wrapped name; and the token's mint. */
  readonly nftRecord: PublicKey;
  readonly mint: PublicKey;
  /** Where the owner says which wallet stands for the name: certified (V2), or signed by him (V1). */
  readonly recordV2: PublicKey;
  readonly recordV1: PublicKey;
}

/** The address of a name account: of the hashed label, the class and the parent. */
function addressOf(label: string, parent: PublicKey, nameClass = PublicKey.default): PublicKey {
  const hash = createHash('sha256').update(`SPL Name Service${label}`).digest();
  return PublicKey.findProgramAddressSync([hash, nameClass.toBuffer(), parent.toBuffer()], NAME_SERVICE)[0];
}

/** Derives them all. Labels below a name begin with a byte of their kind: 0 a name, 1 and 2 records. */
export function nameAddresses({ labels }: Name): NameAddresses {
  const [label, above] = labels;
  const parent = above === undefined ? ROOT : addressOf(above, ROOT);
  const name = addressOf(above === undefined ? label : `\0${label}`, parent);
  const ofTokenizer = (seed: string) => PublicKey.findProgramAddressSync([Buffer.from(seed), name.toBuffer()], TOKENIZER)[0];
  return {
    name,
    parent,
    nftRecord: ofTokenizer('nft_record'),
    mint: ofTokenizer('tokenized_name'),
    recordV2: addressOf('\x02SOL', name, CERTIFIED),
    recordV1: addressOf('\x01SOL', name),
  };
}

type Account = AccountInfo<Buffer> | null;

/** What a name account says; null where there is none, `unreadable` where it is something else. */
function readName(account: Account, parent: PublicKey, nameClass: PublicKey): { owner: PublicKey; content: Buffer } | 'unreadable' | null {
  if (!account) return null;
  const { data, owner } = account;
  const field = (at: number) => new PublicKey(data.subarray(at, at + 32));
  if (!owner.equals(NAME_SERVICE) || data.length < HEADER_BYTES) return 'unreadable';
  if (!field(0).equals(parent) || !field(64).equals(nameClass)) return 'unreadable';
  return { owner: field(32), content: data.subarray(HEADER_BYTES) };
}

/**
 * Which wallet a name of the name service stands for, by the service's own rules (SNS-IP 5): who holds the token, where the name is
 * wrapped in one; else the wallet that a valid SOL record names; else the owner. Refused, where the rules leave it to the caller:
 * owners that are programs. And where they contradict themselves: a record of each version, the certified one stale.
 * @param accounts in the order of `accountsOf`, all read at once
 */
export async function judgeBySns(app: App, at: NameAddresses, accounts: readonly Account[]): Promise<Verdict> {
  const [nameAccount = null, nftRecord = null, recordV2 = null, recordV1 = null] = accounts;
  const name = readName(nameAccount, at.parent, PublicKey.default);
  if (name === null) return UNKNOWN;
  if (name === 'unreadable') return UNREADABLE;
  const isWrapped = nftRecord?.owner.equals(TOKENIZER) === true && nftRecord.data.length >= NFT_RECORD_BYTES && nftRecord.data[0] === ACTIVE;
  // The tokenizer owns the names that it keeps, and only those.
  if (isWrapped !== name.owner.equals(at.nftRecord)) return { refused: 'the name is in the keeping of a token that does not vouch for it' };
  if (isWrapped) return await holderOf(app, at.mint, TOKEN_PROGRAM);
  const certified = judgeCertified(readName(recordV2, at.name, CERTIFIED), name.owner);
  if (certified !== null && certified !== 'stale') return certified;
  const signed = signedWallet(readName(recordV1, at.name, PublicKey.default), at.recordV1, name.owner);
  if (signed && certified === 'stale') return { refused: 'the records of the name contradict each other' };
  return signed ? leadsTo(signed) : ownedBy(name.owner);
}

/** The accounts that `judgeBySns` asks for. */
export const accountsOf = (at: NameAddresses): PublicKey[] => [at.name, at.nftRecord, at.recordV2, at.recordV1];

/**
 * A record of the second version (SNS-IP 3): kinds of validation (u16 each) and length (u32), who validated that it is not stale, who
 * that it is his, the content. It holds while the first is still the name's owner and the second is the wallet that it names.
 */
function judgeCertified(record: ReturnType<typeof readName>, owner: PublicKey): Verdict | 'stale' | null {
  if (record === null) return null;
  if (record === 'unreadable' || record.content.length < 8) return UNREADABLE;
  const { content } = record;
  const [staleness, association, length] = [content.readUInt16LE(0), content.readUInt16LE(2), content.readUInt32LE(4)];
  if (staleness !== BY_SOLANA || association !== BY_SOLANA || length !== 32 || content.length < 104) {
    return { refused: 'the SOL record of the name is not certified' };
  }
  const [signer, associated, wallet] = [content.subarray(8, 40), content.subarray(40, 72), content.subarray(72, 104)];
  if (!owner.toBuffer().equals(signer)) return 'stale';
  if (!wallet.equals(associated)) return { refused: 'the SOL record of the name is not certified by the wallet that it names' };
  return leadsTo(new PublicKey(wallet));
}

/** A record of the first version: a wallet, and the owner's signature of the hex of the wallet and the record's own address. */
function signedWallet(record: ReturnType<typeof readName>, address: PublicKey, owner: PublicKey): PublicKey | null {
  if (record === null || record === 'unreadable' || record.content.length < HEADER_BYTES) return null;
  const wallet = record.content.subarray(0, 32);
  const message = Buffer.from(Buffer.concat([wallet, address.toBuffer()]).toString('hex'));
  return verifyStrict(owner.toBytes(), message, record.content.subarray(32, 96)) ? new PublicKey(wallet) : null;
}
