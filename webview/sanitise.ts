// The only way HTML made from text comes into the page: DOMPurify with the few tags and attributes that our
// own renderer writes. No images, no styles, no addresses (cases 221, 222).

import DOMPurify from 'dompurify';

const inline = ['em', 'strong', 'del', 'code', 'a', 'span', 'br'];
const blocks = ['p', 'pre', 'ul', 'ol', 'li', 'blockquote', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6'];
const tables = ['table', 'thead', 'tbody', 'tr', 'th', 'td'];

/** A fragment that holds nothing but text in allowed tags. */
export function sanitise(html: string): DocumentFragment {
  return DOMPurify.sanitize(html, {
    ALLOWED_TAGS: [...inline, ...blocks, ...tables],
    ALLOWED_ATTR: ['data-href', 'data-lang', 'role', 'tabindex', 'title', 'start', 'align', 'class'],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
}
