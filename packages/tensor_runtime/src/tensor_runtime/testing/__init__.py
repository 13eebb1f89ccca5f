"""What backends and their authors test with; needs the extra ``testing`` where it says so."""
