import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { findChromium } from '#dev/stack/chromium.ts';

const folder = mkdtempSync(join(tmpdir(), 'chromium-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('the first directory that contains Chromium or Chrome decides', () => {
  const directoryOf = (name: string) => {
    mkdirSync(join(folder, name));
    return join(folder, name);
  };
  const [empty, chrome, both] = [directoryOf('empty'), directoryOf('chrome'), directoryOf('both')];
  for (const program of [join(chrome, 'google-chrome'), join(both, 'google-chrome'), join(both, 'chromium')]) writeFileSync(program, '');
  expect(findChromium([empty, chrome, both])).toBe(join(chrome, 'google-chrome'));
  expect(findChromium([empty, both])).toBe(join(both, 'chromium'));
});
