// esbuild gathers style sheets that a module imports into dist/webview.css; for the compiler they are nothing.
declare module '*.css';
