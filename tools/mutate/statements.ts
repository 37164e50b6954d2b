import type { AnyNode, Node } from 'acorn';
import { isFunction, typed } from './exclusions.ts';
import { negate } from './expressions.ts';
import type { Edit } from './source.ts';

/** Returns the mutants of one statement, without those of the statements and expressions inside it. */
export function mutateStatement(given: Node, ancestors: readonly Node[], code: string): Edit[] {
  const node = typed(given);
  const { start, end } = node;
  switch (node.type) {
    case 'IfStatement': {
      const isRemovable = !node.alternate && leaves(node.consequent) && !isCheckOfEmptyList(code.slice(start, end));
      const removed = isRemovable ? [{ start, end, replacement: ';' }] : [];
      return [negate(node.test, code), ...removed];
    }
    case 'ExpressionStatement':
      return mutateExpressionStatement(node, code);
    case 'ReturnStatement': {
      if (!node.argument) return isInLoop(ancestors) ? ['break;', 'continue;'].map((replacement) => ({ start, end, replacement })) : [];
      const replacement = otherResult(node.argument);
      return replacement === null ? [] : [{ start: node.argument.start, end: node.argument.end, replacement }];
    }
    case 'BreakStatement':
      return node.label === null && isInLoop(ancestors) ? [{ start, end, replacement: 'continue;' }] : [];
    case 'ContinueStatement':
      return node.label ? [] : [{ start, end, replacement: 'break;' }];
    default:
      return [];
  }
}

/** Returns whether a statement returns early for an empty list. Most such checks only save a query, so their removal is no mutant. */
const isCheckOfEmptyList = (statement: string): boolean => /^if \([\w.]+\.(length|size) === 0\) return( \[\])?;$/.test(statement);

/**
 * Removes a statement that calls, assigns or counts. An awaited call is also started without `await`, except a call with a transaction: a transaction
 * runs its statements in order on one connection, so only an error would show the difference.
 */
function mutateExpressionStatement({ start, end, expression }: AnyNode & { type: 'ExpressionStatement' }, code: string): Edit[] {
  const removed = { start, end, replacement: ';' };
  switch (expression.type) {
    case 'AwaitExpression':
      if (/^(tx\.|\w+\(\s*tx\b)/.test(code.slice(expression.argument.start))) return [removed];
      return [removed, { start: expression.start, end: expression.argument.start, replacement: 'void ' }];
    case 'CallExpression':
      return expression.callee.type === 'Super' ? [] : [removed];
    case 'AssignmentExpression':
    case 'UpdateExpression':
      return [removed];
    default:
      return [];
  }
}

/** Returns whether a statement, or the only statement of a block, ends the function or the iteration. */
function leaves(node: AnyNode): boolean {
  if (node.type === 'BlockStatement') return node.body.length === 1 && node.body.every(leaves);
  return ['ReturnStatement', 'ThrowStatement', 'BreakStatement', 'ContinueStatement'].includes(node.type);
}

/** Returns whether the nearest loop, `switch` or function around a statement is a loop. */
function isInLoop(ancestors: readonly Node[]): boolean {
  const nearest = ancestors
    .slice(0, -1)
    .map(typed)
    .findLast((node) => isFunction(node) || node.type === 'SwitchStatement' || isLoop(node));
  return nearest !== undefined && isLoop(nearest);
}

const isLoop = ({ type }: AnyNode): boolean => /^(For|ForIn|ForOf|While|DoWhile)Statement$/.test(type);

/** Returns the code of another result than `node`; null when other mutants change this result. */
function otherResult(node: AnyNode): string | null {
  if (node.type === 'ArrayExpression') return null;
  if (node.type === 'TemplateLiteral') return "''";
  if (node.type === 'Literal') return typeof node.value === 'string' ? "''" : null;
  return 'null';
}
