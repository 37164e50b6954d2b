import { expect, test } from '@jest/globals';
import { matchPath } from '#lib/path-pattern.ts';

test.each([
  ['/', '/', {}],
  ['/boards', '/boards', {}],
  ['/boards/{id}', '/boards/gem-drop', { id: 'gem-drop' }],
  ['/check/round/{id}', '/check/round/%E0%A4%A', { id: '%E0%A4%A' }],
  ['/{area}/{id}', '/a/b', { area: 'a', id: 'b' }],
])('the pattern %s matches %s', (pattern, path, params) => {
  expect(matchPath(pattern, path)).toEqual(params);
});

test.each([
  ['/boards', '/boards/'],
  ['/boards/{id}', '/boards/'],
  ['/boards/{id}', '/boards/a/b'],
  ['/boards/{id}', '/Boards/a'],
  ['/', '/boards'],
])('the pattern %s does not match %s', (pattern, path) => {
  expect(matchPath(pattern, path)).toBeNull();
});
