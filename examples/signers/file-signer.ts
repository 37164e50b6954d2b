/**
 * A signer whose key is in a file, as docs/signers.md describes. It shows the protocol and serves the tests; a key file of the worker itself is as safe
 * when both run on one machine as the same user.
 *
 *   node file-signer.ts --key FILE --role treasury --programs A,B,C            answers one request on the standard input
 *   SIGNER_TOKEN=… node file-signer.ts … --listen 8900                         answers POST requests on 127.0.0.1
 */
import { createPrivateKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { answerOnce, base58, listen } from './protocol.ts';

const { values } = parseArgs({
  options: { key: { type: 'string' }, role: { type: 'string' }, programs: { type: 'string' }, listen: { type: 'string' } },
});
const bytes = Uint8Array.from(JSON.parse(readFileSync(values.key ?? '', 'utf8')));
if (bytes.length !== 64) throw new Error('the file must be a JSON array of 64 numbers');
/** PKCS #8 prefix of a raw ed25519 seed (RFC 8410). */
const prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const key = createPrivateKey({ key: Buffer.concat([prefix, bytes.subarray(0, 32)]), format: 'der', type: 'pkcs8' });

const rules = { role: values.role ?? '', address: base58(bytes.subarray(32)), programs: (values.programs ?? '').split(',') };
const signMessage = async (message: Buffer) => sign(null, message, key).toString('base64');
if (values.listen === undefined) await answerOnce(rules, signMessage);
else listen(Number(values.listen), process.env.SIGNER_TOKEN ?? null, rules, signMessage);
