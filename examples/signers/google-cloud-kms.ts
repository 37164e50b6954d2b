/**
 * A signer whose key is in Google Cloud KMS: a key version of the algorithm EC_SIGN_ED25519, which signs the message itself (the field `data`) and
 * answers with 64 bytes. The machine's service account needs the permission cloudkms.cryptoKeyVersions.useToSign for this key version alone.
 *
 *   node google-cloud-kms.ts --key projects/P/locations/L/keyRings/R/cryptoKeys/K/cryptoKeyVersions/1 --role treasury --address A --programs B,C,D
 *
 * `--kms` and `--metadata` replace the addresses of Google's servers, for tests. The example was tried with a stand-in of these servers, not with Google.
 */
import { parseArgs } from 'node:util';
import { answerOnce } from './protocol.ts';

const option = (fallback: string) => ({ type: 'string', default: fallback }) as const;
const { values } = parseArgs({
  options: {
    ...{ key: option(''), role: option(''), address: option(''), programs: option('') },
    ...{ kms: option('https://cloudkms.googleapis.com'), metadata: option('http://metadata.google.internal') },
  },
});

/** Sends a request and returns a text field of the answer. */
async function ask(url: string, field: string, init: RequestInit): Promise<string> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(4_000) });
  if (!response.ok) throw new Error(`${new URL(url).host} answered with status ${response.status}`);
  const answer: unknown = await response.json();
  const value = typeof answer === 'object' && answer !== null ? Object.entries(answer).find(([name]) => name === field)?.[1] : undefined;
  if (typeof value !== 'string') throw new Error(`the answer of ${new URL(url).host} has no field ${field}`);
  return value;
}

const rules = { role: values.role, address: values.address, programs: values.programs.split(',') };
await answerOnce(rules, async (message) => {
  const account = `${values.metadata}/computeMetadata/v1/instance/service-accounts/default/token`;
  const token = await ask(account, 'access_token', { headers: { 'Metadata-Flavor': 'Google' } });
  return await ask(`${values.kms}/v1/${values.key}:asymmetricSign`, 'signature', {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ data: message.toString('base64') }),
  });
});
