"""The rules of hplint: one small module and one page each."""
