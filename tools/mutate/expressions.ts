import type { AnyNode, Node } from 'acorn';
import { typed } from './exclusions.ts';
import type { Edit } from './source.ts';

const BINARY: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '<<': '>>',
  '>>': '<<',
  '>>>': '<<',
  '&': '|',
  '|': '&',
};

const ASSIGNMENT: Readonly<Record<string, string>> = { '+=': '-=', '-=': '+=', '*=': '/=', '/=': '*=', '??=': '=', '||=': '=', '&&=': '=' };

/** Operators and sort directions that query builders take as text. */
const QUERY_TEXT: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>', '=': '!=', '!=': '=', desc: 'asc', asc: 'desc' };

const METHODS: Readonly<Record<string, string>> = {
  some: 'every',
  every: 'some',
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
  round: 'floor',
};

/** Methods that return their object in another order or shorter. A mutant replaces the call with the object. */
const REMOVABLE = new Set(['sort', 'toSorted', 'reverse', 'toReversed', 'filter', 'trim', 'toLowerCase']);

/** Returns the mutants of one expression, without those of the expressions inside it. */
export function mutateExpression(given: Node, ancestors: readonly Node[], code: string): Edit[] {
  const node = typed(given);
  const parent = ancestors.at(-2);
  switch (node.type) {
    case 'BinaryExpression':
      if (node.operator === '>' && isCheckOfEmpty(node, code)) return [];
      if (node.operator === '+' && (isText(node.left) || isText(node.right))) return [];
      return replaceOperator(node, BINARY[node.operator], code);
    case 'LogicalExpression':
      return node.operator === '??' ? mutateFallback(node, code) : replaceOperator(node, node.operator === '&&' ? '||' : '&&', code);
    case 'AssignmentExpression':
      return replaceOperator(node, ASSIGNMENT[node.operator], code);
    case 'ConditionalExpression':
      return [negate(node.test, code)];
    case 'UnaryExpression':
      if (node.operator === '!' && isTestOf(node, parent)) return [];
      return node.operator === '!' || node.operator === '-' ? [{ start: node.start, end: node.argument.start, replacement: '' }] : [];
    case 'UpdateExpression': {
      const isInLoopHead = parent !== undefined && typed(parent).type === 'ForStatement';
      const start = node.prefix ? node.start : node.end - 2;
      return isInLoopHead ? [] : [{ start, end: start + 2, replacement: node.operator === '++' ? '--' : '++' }];
    }
    case 'ArrayExpression':
      return node.elements.length > 0 ? [{ start: node.start, end: node.end, replacement: '[]' }] : [];
    case 'CallExpression':
      return mutateCall(node);
    case 'Literal':
      return mutateLiteral(node, parent, ancestors.at(-3), code);
    default:
      return [];
  }
}

/** Returns the edit that negates a condition. */
export function negate({ start, end }: Node, code: string): Edit {
  return { start, end, replacement: `!(${code.slice(start, end)})` };
}

function isTestOf(node: Node, parent: Node | undefined): boolean {
  if (parent === undefined) return false;
  const outer = typed(parent);
  return (outer.type === 'IfStatement' || outer.type === 'ConditionalExpression') && outer.test.start === node.start;
}

const isText = (node: AnyNode): boolean => node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string');

function replaceOperator(node: { left: Node; right: Node; operator: string }, replacement: string | undefined, code: string): Edit[] {
  if (replacement === undefined) return [];
  const start = node.left.end + code.slice(node.left.end, node.right.start).indexOf(node.operator);
  return [{ start, end: start + node.operator.length, replacement }];
}

/** Removes a fallback: `a ?? b` becomes `a`. */
function mutateFallback(node: AnyNode & { type: 'LogicalExpression' }, code: string): Edit[] {
  const { left, right } = node;
  if (isDemandedFallback(node)) return [];
  return [{ start: left.end, end: right.end, replacement: closing(code.slice(left.end, right.start)) }];
}

/**
 * Returns whether a node is a literal as fallback of a list element: `list[i] ?? 0`, `list[i]?.size ?? 0` or `[first = 0] = list`. The type checker
 * demands the fallback even where the element always exists, so the fallback has no mutants.
 */
function isDemandedFallback(node: AnyNode | undefined, parent?: AnyNode): boolean {
  if (node?.type === 'AssignmentPattern') return parent?.type === 'ArrayPattern';
  if (node?.type !== 'LogicalExpression' || node.operator !== '??' || node.right.type !== 'Literal') return false;
  const { left } = node;
  return left.type === 'ChainExpression' ? isElementOfUnknownIndex(left.expression) : left.type === 'MemberExpression' && left.computed;
}

function isElementOfUnknownIndex(node: AnyNode): boolean {
  if (node.type !== 'MemberExpression') return false;
  return (node.computed && node.property.type !== 'Literal') || isElementOfUnknownIndex(node.object);
}

/** Returns the closing parentheses that belong to the left operand. */
const closing = (between: string): string => ')'.repeat([...between.replace(/\?\?.*$/s, '')].filter((character) => character === ')').length);

function mutateCall({ callee, end }: AnyNode & { type: 'CallExpression' }): Edit[] {
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return [];
  const { object, property } = callee;
  const isMath = object.type === 'Identifier' && object.name === 'Math';
  const other = isMath || property.name === 'some' || property.name === 'every' ? METHODS[property.name] : undefined;
  if (other !== undefined) return [{ start: property.start, end: property.end, replacement: other }];
  return REMOVABLE.has(property.name) && !isMath ? [{ start: object.end, end, replacement: '' }] : [];
}

/**
 * Returns whether an expression compares a length with 0. A length is never below 0, so `length >= 0` and `length > -1` would remove the check, and most
 * of these checks only save work for an empty list. So these are no mutants.
 */
const isCheckOfEmpty = (node: AnyNode, code: string): boolean =>
  node.type === 'BinaryExpression' && /\.(length|size) (>|===|!==) 0$/.test(code.slice(node.start, node.end));

function mutateLiteral(node: AnyNode & { type: 'Literal' }, parent: Node | undefined, grandparent: Node | undefined, code: string): Edit[] {
  const { start, end, value } = node;
  const outer = parent && typed(parent);
  if (outer?.type === 'Property' && outer.key.start === start) return [];
  if (isDemandedFallback(outer, grandparent && typed(grandparent))) return [];
  const to = (replacement: string): Edit => ({ start, end, replacement });
  if (typeof value === 'boolean') return [to(String(!value))];
  if (typeof value === 'bigint') return [value - 1n, value + 1n].map((n) => to(n < 0n ? `(${n}n)` : `${n}n`));
  if (outer && isCheckOfEmpty(outer, code)) return [to('1')];
  if (typeof value === 'number' && Number.isSafeInteger(value)) return [value - 1, value + 1].map((n) => to(n < 0 ? `(${n})` : `${n}`));
  const isArgument = outer?.type === 'CallExpression';
  const other = typeof value === 'string' && isArgument ? QUERY_TEXT[value] : undefined;
  return other === undefined ? [] : [to(`'${other}'`)];
}
