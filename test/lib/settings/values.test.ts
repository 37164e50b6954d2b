import { describe, expect, test } from '@jest/globals';
import { parseDenyListSource, parseFrontendUrl, parseSeed } from '#lib/settings/values.ts';

describe('the URL of the front end', () => {
  test.each(['https://arcade.example', 'https://arcade.example/play', 'http://localhost:3000/'])('may be %s', (url) => {
    expect(parseFrontendUrl(url, false).href).toBe(new URL(url).href);
  });
  test.each([
    'https://arcade.example/?a=1',
    'https://arcade.example/#a',
    'https://user@arcade.example/',
    'https://:password@arcade.example/',
    'https://arcade.example/?',
    'https://arcade.example/#',
  ])('must not be %s', (url) => {
    expect(() => parseFrontendUrl(url, false)).toThrow('FRONTEND_URL must not have a query, a fragment or credentials');
  });
  test('must be https in production', () => {
    expect(() => parseFrontendUrl('http://arcade.example', true)).toThrow('FRONTEND_URL must be https in production');
    expect(parseFrontendUrl('https://arcade.example', true).protocol).toBe('https:');
  });
});

describe('the source of the deny list', () => {
  test('may be a path, or a URL with a query', () => {
    expect(parseDenyListSource('/etc/deny.txt', true)).toBe('/etc/deny.txt');
    expect(parseDenyListSource('https://lists.example/deny?key=1', true)).toEqual(new URL('https://lists.example/deny?key=1'));
  });
  test.each(['https://user@lists.example/', 'https://:password@lists.example/', 'https://lists.example/#a', 'https://'])('must not be %s', (url) => {
    expect(() => parseDenyListSource(url, false)).toThrow('DENY_LIST must be a path, or a URL without credentials and without a fragment');
  });
  test('must be https in production', () => {
    expect(() => parseDenyListSource('http://lists.example/', true)).toThrow('DENY_LIST: the URL must be https in production');
  });
});

test('a seed is the canonical base64 of exactly 32 bytes', () => {
  const seed = Buffer.alloc(32, 7);
  expect(parseSeed('RECEIPT_KEY', seed.toString('base64'))).toEqual(seed);
  const wrong = [Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64'), seed.toString('base64url'), `${seed.toString('base64')} `];
  for (const text of wrong) expect(() => parseSeed('RECEIPT_KEY', text)).toThrow('RECEIPT_KEY: must be the base64 of 32 bytes');
});
