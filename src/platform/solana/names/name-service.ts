import { createHash } from 'node:crypto';
import { verifyStrict } from '#lib/sign-in/ed25519.ts';
import type { App } from '#platform/app.ts';
import { type Address, addressOfBytes, deriveAddress, type FetchedAccount, parseAddress, ZERO_ADDRESS } from '../primitives.ts';
import { TOKEN_PROGRAM } from '../tokens.ts';
import { resolveByToken } from './holder.ts';
import type { Name } from './name.ts';
import { type NameResolution, NO_SUCH_NAME, resolvesTo, resolvesToOwner, UNREADABLE_NAME } from './resolution.ts';

/** Program address of the SPL Name Service. */
const NAME_SERVICE = parseAddress('namesLPneVptA9Z5rqUDD9tMTWEJwofgaYwp8cawRkX');
/** The parent account of all `.sns` names, and of `.sol` names until they moved to the record service. */
const ROOT = parseAddress('58PwtjSDuFHuUkYjH9BYnnQKHfwo9reZhC2zMJv9JPkx');
/** Address of the tokenizer, the program that wraps names in tokens. */
const TOKENIZER = parseAddress('nftD3vbNkNqfj2Sd3HZwbpw4BxxKWr4AjGb9X38JeZk');
/** The class of the name accounts that hold certified records. The class is the address of the records program's central state account. */
const CERTIFIED = parseAddress('2pMnqHvei2N5oDcVGCRdZx48gqti199wr5CsyTTafsbo');

/** Bytes before the content of a name account: parent, owner and class, 32 bytes each. */
const HEADER_BYTES = 96;
/** First byte of a tokenizer record while its name is wrapped. */
const ACTIVE = 2;
const NFT_RECORD_BYTES = 98;
/** Code in a certified record for the validation method "signature on Solana". */
const BY_SOLANA = 1;

/** The addresses of all accounts that decide to which wallet a name resolves. */
interface NameAddresses {
  readonly name: Address;
  readonly parent: Address;
  /** The tokenizer's record of the name. This record owns the name while the name is wrapped (represented by a token). */
  readonly nftRecord: Address;
  /** The mint of the token that wraps the name. */
  readonly mint: Address;
  /** The certified SOL record of the name (version 2). */
  readonly recordV2: Address;
  /** The SOL record of the name that the owner signed (version 1). */
  readonly recordV1: Address;
}

/** Derives the address of a name account from its hashed label, class and parent. */
function addressOf(label: string, parent: Address, nameClass = ZERO_ADDRESS): Address {
  const hash = createHash('sha256').update(`SPL Name Service${label}`).digest();
  return deriveAddress(NAME_SERVICE, hash, nameClass.toBuffer(), parent.toBuffer());
}

/**
 * Derives the addresses of a name and its records. The label of a subdomain or record starts with a type byte: 0 for a subdomain, 1 for a record of
 * version 1, 2 for a record of version 2.
 */
export function nameAddresses({ labels }: Name): NameAddresses {
  const [label, above] = labels;
  const parent = above === undefined ? ROOT : addressOf(above, ROOT);
  const name = addressOf(above === undefined ? label : `\0${label}`, parent);
  const ofTokenizer = (seed: string) => deriveAddress(TOKENIZER, Buffer.from(seed), name.toBuffer());
  return {
    name,
    parent,
    nftRecord: ofTokenizer('nft_record'),
    mint: ofTokenizer('tokenized_name'),
    recordV2: addressOf('\x02SOL', name, CERTIFIED),
    recordV1: addressOf('\x01SOL', name),
  };
}

/** Decodes a name account. Returns null when the account does not exist, and `unreadable` when it has another layout, parent or class. */
function readName(account: FetchedAccount, parent: Address, nameClass: Address): { owner: Address; content: Buffer } | 'unreadable' | null {
  if (!account) return null;
  const { data, owner } = account;
  const field = (at: number) => addressOfBytes(data.subarray(at, at + 32));
  if (!owner.equals(NAME_SERVICE) || data.length < HEADER_BYTES) return 'unreadable';
  if (!field(0).equals(parent) || !field(64).equals(nameClass)) return 'unreadable';
  return { owner: field(32), content: data.subarray(HEADER_BYTES) };
}

/**
 * Resolves a name by the rules of the name service (SNS-IP 5): to the holder of the token when the name is wrapped; otherwise to the wallet in a
 * valid SOL record; otherwise to the owner. Rejects an owner that is a program. Also rejects a name that has a stale certified record and a valid
 * signed record.
 * @param accounts on-chain accounts at the addresses that `accountsOf` returned, in the same order, all read in one request
 */
export async function resolveBySns(app: App, at: NameAddresses, accounts: readonly FetchedAccount[]): Promise<NameResolution> {
  const [nameAccount = null, nftRecord = null, recordV2 = null, recordV1 = null] = accounts;
  const name = readName(nameAccount, at.parent, ZERO_ADDRESS);
  if (name === null) return NO_SUCH_NAME;
  if (name === 'unreadable') return UNREADABLE_NAME;
  const isWrapped = nftRecord?.owner.equals(TOKENIZER) === true && nftRecord.data.length >= NFT_RECORD_BYTES && nftRecord.data[0] === ACTIVE;
  // The tokenizer's record owns a name if and only if the name is wrapped.
  if (isWrapped !== name.owner.equals(at.nftRecord)) return { refused: 'the owner of the name and the record of its token contradict each other' };
  if (isWrapped) return await resolveByToken(app, at.mint, TOKEN_PROGRAM);
  const certified = readCertifiedRecord(readName(recordV2, at.name, CERTIFIED), name.owner);
  if (certified !== null && certified !== 'stale') return certified;
  const signed = readSignedRecord(readName(recordV1, at.name, ZERO_ADDRESS), at.recordV1, name.owner);
  if (signed && certified === 'stale') return { refused: 'the records of the name contradict each other' };
  return signed ? resolvesTo(signed) : resolvesToOwner(name.owner);
}

/** Returns the addresses of the accounts that `resolveBySns` needs, in the order that `resolveBySns` expects. */
export const accountsOf = (at: NameAddresses): Address[] => [at.name, at.nftRecord, at.recordV2, at.recordV1];

/**
 * Decodes a certified record (version 2, SNS-IP 3). Layout: two validation methods (u16 each), length of the content (u32), two wallets, content (a
 * wallet). The first wallet must be the owner of the name; otherwise the record is stale. The second wallet must equal the wallet in the content;
 * otherwise the record is rejected.
 */
function readCertifiedRecord(record: ReturnType<typeof readName>, owner: Address): NameResolution | 'stale' | null {
  if (record === null) return null;
  if (record === 'unreadable' || record.content.length < 8) return UNREADABLE_NAME;
  const { content } = record;
  const [staleness, association, length] = [content.readUInt16LE(0), content.readUInt16LE(2), content.readUInt32LE(4)];
  if (staleness !== BY_SOLANA || association !== BY_SOLANA || length !== 32 || content.length < 104) {
    return { refused: 'the SOL record of the name is not certified' };
  }
  const [signer, associated, wallet] = [content.subarray(8, 40), content.subarray(40, 72), content.subarray(72, 104)];
  if (!owner.toBuffer().equals(signer)) return 'stale';
  if (!wallet.equals(associated)) return { refused: 'the SOL record of the name is not certified by the wallet in the record' };
  return resolvesTo(addressOfBytes(wallet));
}

/**
 * Decodes a signed record (version 1). Layout: a wallet, then a signature of the name's owner. The signed text is the wallet followed by the record
 * address, as hex. Returns null when the record is not valid.
 */
function readSignedRecord(record: ReturnType<typeof readName>, address: Address, owner: Address): Address | null {
  if (record === null || record === 'unreadable' || record.content.length < HEADER_BYTES) return null;
  const wallet = record.content.subarray(0, 32);
  const message = Buffer.from(Buffer.concat([wallet, address.toBuffer()]).toString('hex'));
  return verifyStrict(owner.toBytes(), message, record.content.subarray(32, 96)) ? addressOfBytes(wallet) : null;
}
