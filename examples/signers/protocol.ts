import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

/** The protocol of docs/signers.md: reads requests, refuses those that the key must not sign, and writes the answers. */

/** A request that passed the checks. */
export interface SignerRequest {
  readonly role: string;
  readonly address: string;
  /** The bytes to sign. */
  readonly message: Buffer;
}

/** The rules of a signer. */
export interface Rules {
  readonly role: string;
  readonly address: string;
  /** Addresses of the programs that a message may use. */
  readonly programs: readonly string[];
}

/** Signs bytes. @returns the signature, 64 bytes in base64 */
export type Sign = (message: Buffer) => Promise<string>;

const MAX_REQUEST_BYTES = 4_096;
/** The first bytes of off-chain messages. No transaction begins with them. bin/doctor signs such a message to check the signer. */
const OFF_CHAIN = Buffer.from('\xffsolana offchain', 'latin1');

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Encodes bytes as base58. */
export function base58(bytes: Uint8Array): string {
  let [digits, rest] = ['', BigInt(`0x${Buffer.from(bytes).toString('hex') || '0'}`)];
  for (; rest > 0n; rest /= 58n) digits = ALPHABET.charAt(Number(rest % 58n)) + digits;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros < 0 ? bytes.length : zeros) + digits;
}

/** Parses a request and checks it. @throws with the reason when the key must not sign the message */
export function readRequest(line: string, rules: Rules): SignerRequest {
  const { version, role, address, message: encoded }: Record<string, unknown> = JSON.parse(line);
  if (version !== 1) throw new Error('version must be 1');
  if (role !== rules.role) throw new Error(`role must be ${rules.role}`);
  if (address !== rules.address) throw new Error(`address must be ${rules.address}`);
  const message = Buffer.from(String(encoded), 'base64');
  if (!message.subarray(0, OFF_CHAIN.length).equals(OFF_CHAIN)) checkTransaction(message, rules);
  return { role, address, message };
}

/** Checks the message of a legacy transaction: the key must be one of its signers, and every instruction must use a program of the rules. */
function checkTransaction(message: Buffer, { address, programs }: Rules): void {
  let at = 0;
  const take = (length: number): Buffer => {
    at += length;
    if (at > message.length) throw new Error('the message ends early');
    return message.subarray(at - length, at);
  };
  const byte = (): number => take(1).readUInt8();
  /** Reads a number of one to three bytes: seven bits per byte, the lowest first. */
  const compact = (): number => {
    let value = 0;
    for (let shift = 0; shift < 21; shift += 7) {
      const next = byte();
      value |= (next & 0x7f) << shift;
      if (next < 0x80) return value;
    }
    throw new Error('the message has a number of more than three bytes');
  };
  const signers = byte();
  if (signers >= 0x80) throw new Error('the message must be one of a legacy transaction');
  take(2);
  const keys = Array.from({ length: compact() }, () => base58(take(32)));
  if (!keys.slice(0, signers).includes(address)) throw new Error('the key must be a signer of the message');
  take(32);
  for (let left = compact(); left > 0; left--) {
    const program = keys[byte()] ?? 'unknown';
    if (!programs.includes(program)) throw new Error(`program ${program} is not allowed`);
    // The accounts of the instruction, and its data.
    take(compact());
    take(compact());
  }
  if (at !== message.length) throw new Error('the message has another length than its parts');
}

/** Answers one request on the standard input. Refusals go to the standard error, with exit status 1. */
export async function answerOnce(rules: Rules, sign: Sign): Promise<void> {
  try {
    const { message } = readRequest(await text(process.stdin), rules);
    console.log(JSON.stringify({ signature: await sign(message) }));
  } catch (error) {
    console.error(String(error));
    process.exitCode = 1;
  }
}

/** Answers POST requests on a port of this machine. @param token the bearer token that every request must have; null accepts every request */
export function listen(port: number, token: string | null, rules: Rules, sign: Sign): void {
  // Compares digests, because the time of a comparison of texts depends on the number of equal characters.
  const digest = (value: string) => createHash('sha256').update(value).digest();
  const isAllowed = (value = '') => token === null || timingSafeEqual(digest(value), digest(`Bearer ${token}`));
  const server = createServer(async (request, response) => {
    if (!isAllowed(request.headers.authorization)) return response.writeHead(401).end();
    if (Number(request.headers['content-length'] ?? MAX_REQUEST_BYTES + 1) > MAX_REQUEST_BYTES) return response.writeHead(413).end();
    try {
      const { message } = readRequest(await text(request), rules);
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ signature: await sign(message) }));
    } catch (error) {
      console.error(String(error));
      response.writeHead(403).end();
    }
  });
  server.listen(port, '127.0.0.1', () => console.log(`listening on ${JSON.stringify(server.address())}`));
}
