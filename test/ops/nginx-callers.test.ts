import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

/** The regular expressions of the map `$caller` in nginx.conf, in their order. */
const patterns = [...readFileSync(join(import.meta.dirname, '../../ops/proxy/nginx.conf'), 'utf8').matchAll(/^\t\t"~(.+)" \$network;$/gm)].map(
  ([, pattern = '']) => new RegExp(pattern),
);

/** Returns the caller that nginx limits. @param address the address as nginx writes it */
const callerOf = (address: string) => patterns.map((pattern) => pattern.exec(address)?.groups?.network).find(Boolean) ?? address;

test.each([
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::6', '2001:db8:1:2'],
  ['2001:db8:1::2:3:4', '2001:db8:1'],
  ['2001:db8:1::9', '2001:db8:1'],
  ['2001:db8::a:b:c:d', '2001:db8'],
  ['2001:db8::9', '2001:db8'],
  ['192.0.2.1', '192.0.2.1'],
])('The proxy limits the address %s as the caller %s, so that a machine cannot use all addresses of its IPv6 network.', (address, caller) => {
  expect(callerOf(address)).toBe(caller);
});
