import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import bs58 from 'bs58';
import { z } from 'zod';

/**
 * Signs a wallet in, and prints what a shell needs to go on with curl:
 *
 *     eval "$(node_modules/.bin/node examples/sign-in.ts)"
 *     curl -b "$COOKIE" http://localhost:3000/me
 *
 * The key is made for the occasion, or read from a key pair file as solana-keygen writes them: `sign-in.ts ~/.config/solana/id.json`.
 * BASE_URL says where the service is.
 */
const base = process.env.BASE_URL ?? 'http://localhost:3000';
const key = process.argv[2] ? readKey(process.argv[2]) : generateKeyPairSync('ed25519').privateKey;
const wallet = bs58.encode(createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32));

const SignInNonce = z.object({
  signInInput: z.object({
    domain: z.string(),
    statement: z.string(),
    uri: z.string(),
    version: z.string(),
    chainId: z.string(),
    nonce: z.string(),
    issuedAt: z.string(),
    expirationTime: z.string(),
  }),
});

const { signInInput: i } = SignInNonce.parse(await (await post('/auth/nonce', {})).json());
const message = [
  `${i.domain} wants you to sign in with your Solana account:\n${wallet}`,
  i.statement,
  `URI: ${i.uri}\nVersion: ${i.version}\nChain ID: ${i.chainId}\nNonce: ${i.nonce}\nIssued At: ${i.issuedAt}\nExpiration Time: ${i.expirationTime}`,
].join('\n\n');
const answer = await post('/auth/verify', { publicKey: wallet, message, signature: bs58.encode(sign(null, Buffer.from(message), key)) });
const cookie = answer.headers
  .getSetCookie()
  .map((line) => line.split(';')[0])
  .join('; ');
console.log(`export COOKIE='${cookie}' WALLET='${wallet}'`);

async function post(path: string, body: unknown): Promise<Response> {
  const response = await fetch(new URL(path, base), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => fatal(`${base} does not answer; set BASE_URL to where the service is`));
  return response.ok ? response : fatal(`${path} answered ${response.status}: ${await response.text()}`);
}

/** A file of 64 numbers: the 32 bytes of the secret key, then those of the public key. */
function readKey(path: string): KeyObject {
  const bytes = z
    .array(z.int().min(0).max(255))
    .length(64)
    .parse(JSON.parse(readFileSync(path, 'utf8')));
  const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.from(bytes.slice(0, 32))]);
  return createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
}

function fatal(why: string): never {
  console.error(why);
  process.exit(1);
}
