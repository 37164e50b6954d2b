import { readFileSync } from 'node:fs';
import { createClient, keypairSigner, signIn } from '#packages/client/src/index.ts';

/**
 * Signs a wallet in, and prints the shell variables for requests with curl:
 *
 *     eval "$(node_modules/.bin/node examples/sign-in.ts)"
 *     curl -b "$COOKIE" http://localhost:3000/me
 *
 * Creates a new key, or reads a key pair file of solana-keygen: `sign-in.ts ~/.config/solana/id.json`. BASE_URL is the URL of the service.
 */
const file = process.argv[2];
const secret = file ? Uint8Array.from(JSON.parse(readFileSync(file, 'utf8'))) : crypto.getRandomValues(new Uint8Array(32));
const client = createClient({ baseUrl: process.env.BASE_URL ?? 'http://localhost:3000' });
try {
  const { wallet } = await signIn(client, await keypairSigner(secret));
  console.log(`export COOKIE='${client.cookie}' WALLET='${wallet}'`);
} catch (error) {
  console.error('sign-in failed; check that BASE_URL is the URL of the service.', error);
  process.exit(1);
}
