import { readFileSync } from 'node:fs';
import { createClient, keypairSigner, signIn } from '#packages/client/src/index.ts';

/**
 * Signs a wallet in, and prints what a shell needs to go on with curl:
 *
 *     eval "$(node_modules/.bin/node examples/sign-in.ts)"
 *     curl -b "$COOKIE" http://localhost:3000/me
 *
 * The key is made for the occasion, or read from a key pair file as solana-keygen writes them: `sign-in.ts ~/.config/solana/id.json`.
 * BASE_URL says where the service is.
 */
const file = process.argv[2];
const secret = file ? Uint8Array.from(JSON.parse(readFileSync(file, 'utf8'))) : crypto.getRandomValues(new Uint8Array(32));
const client = createClient({ baseUrl: process.env.BASE_URL ?? 'http://localhost:3000' });
try {
  const { wallet } = await signIn(client, await keypairSigner(secret));
  console.log(`export COOKIE='${client.cookie}' WALLET='${wallet}'`);
} catch (error) {
  console.error('no session was given; set BASE_URL to where the service is.', error);
  process.exit(1);
}
